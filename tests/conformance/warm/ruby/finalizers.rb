class Keeper
  def self.finalizer(n) = proc { puts "finalizer #{n}" }
end
3.times { |n| o = Object.new; (@kept ||= []) << o; ObjectSpace.define_finalizer(o, Keeper.finalizer(n)) }
f = File.open("left.txt", "w")
f.print "left open"
at_exit { puts "at_exit" }
fork { puts "child" }
Process.wait
