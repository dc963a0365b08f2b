print "no newline"
warn "to stderr"
$stderr.print "x\n"
system("echo from a child")
print " more"
fork { print "child " }
Process.wait
puts
