//go:build !linux

package main

import "context"

func giveBack([]byte) {}

func settle(context.Context) {}
