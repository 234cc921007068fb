module tailor.internal/tailor

go 1.19
