package api

import "net/http"

// Authenticated lets only those requests through to next that permit has nothing
// against: it gives the HTTP status (401 where nobody knows who asks, 403 where the one
// who asks may not) and the error that the caller is told, or nil.
func Authenticated(next http.Handler, permit func(*http.Request) (status int, denied *Error)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if status, denied := permit(r); denied != nil {
			if status == http.StatusUnauthorized {
				w.Header().Set("WWW-Authenticate", "TLS-Client-Certificate")
			}
			writeError(w, status, denied)
			return
		}
		next.ServeHTTP(w, r)
	})
}
