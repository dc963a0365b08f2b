module main

go 1.19

require example.com/no/such/module v1.2.3
