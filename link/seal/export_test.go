package seal

// Older gives the configuration of a node that knows version 1 alone.
func Older(c Config) Config {
	c.newest = versionSigned
	return c
}
