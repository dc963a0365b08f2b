%w[HUP INT TERM].each { |name| trap(name, "IGNORE") }

nil while true
