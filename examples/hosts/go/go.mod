module tailor.internal/hosts

go 1.19

require tailor.internal/tailor v0.1.0

// Within Tailor's source tree. Elsewhere: remove this line, and set GOPROXY as docs/hosts/go.md says.
replace tailor.internal/tailor => ../../../bindings/go
