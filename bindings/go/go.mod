module tailor

go 1.19
