puts "to stdout"
warn "to stderr"
