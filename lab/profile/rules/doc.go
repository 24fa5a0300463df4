// Package rules judges profiles by rules that users write in YAML, such as "allocation uses more
// than 40 % of the CPU time".
package rules
