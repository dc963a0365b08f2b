p $VERBOSE, $DEBUG, $-w, $-d, $-v, $-W, Warning[:deprecated], Warning[:experimental]
warn "plain", "two"
warn "up", uplevel: 0
warn "deprecated", category: :deprecated
A = 1
A = 2
$VERBOSE = true
def m; end
def m; end
p @none
$VERBOSE = nil
warn "never"
module Warning
  def self.warn(text, **) = $stdout.print("caught: #{text}")
end
$VERBOSE = false
B = 1
B = 2
