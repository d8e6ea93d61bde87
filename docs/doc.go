// Package docs holds the project's pages about its language, its formats and its
// operation. Its tests hold the pages to the code.
package docs
