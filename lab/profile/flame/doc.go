// Package flame writes a page with the flame graph of a profile, or with the difference of two.
// The page is one file that needs no network. Its script is in report/web
// (docs/adr/0050-profile-pages.md).
package flame
