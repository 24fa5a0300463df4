// Package present writes the report of a diagnosis for people: as text for the terminal, as
// Markdown and as a page.
package present
