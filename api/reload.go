package api

import (
	"context"
	"errors"
	"net/http"
)

// ReloadPath is where ReloadHandler belongs: on the local socket only, since the
// configuration is that of the machine.
const ReloadPath = "/v1/reload"

// ReloadHandler has a daemon read its configuration again, and answers when it is taken
// up, or with what is wrong with it.
func ReloadHandler(reload func(context.Context) error) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost {
			writeError(w, http.StatusMethodNotAllowed, Errorf(CodeUsage, "use POST", "a reload is not for %s", r.Method))
			return
		}
		err := reload(r.Context())
		switch {
		case err == nil:
			writeJSON(w, http.StatusOK, nothing{})
		case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
			e := asError(err)
			writeError(w, e.Code.httpStatus(), e)
		default:
			e := Errorf(CodeFailed, "", "the configuration is not taken up, and what was configured before goes on: %v", err)
			writeError(w, e.Code.httpStatus(), e)
		}
	})
}

// Reload has the daemon read its configuration again.
func (c *Client) Reload(ctx context.Context) error {
	_, err := ask[nothing](ctx, c, c.timeout, http.MethodPost, ReloadPath, nothing{})
	return err
}
