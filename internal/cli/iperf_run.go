package cli

import (
	"context"
	"errors"
)

func runIPerf(ctx context.Context, a *iperfArgs, stdio Stdio) error { return errors.New("x") }
