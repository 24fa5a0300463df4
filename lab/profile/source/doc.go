// Package source shows where within a function a profile spends: the samples of each line of its
// source, and of each instruction of its code.
//
// Instructions are decoded with golang.org/x/arch (docs/adr/0050-profile-pages.md).
package source
