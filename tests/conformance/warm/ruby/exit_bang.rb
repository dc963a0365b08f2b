at_exit { puts "never" }
ObjectSpace.define_finalizer("x".dup, proc { puts "never" })
print "buffered and lost?"
$stdout.flush
print "lost"
exit! 9
