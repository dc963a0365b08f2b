class Own; end
keep = [Own.new, Own.new]
p ObjectSpace.each_object(Own).count, ObjectSpace.each_object(Class).include?(Own)
p ObjectSpace.each_object(File).reject(&:closed?).size
ObjectSpace.define_finalizer(keep[0], proc { puts "finalized" })
ObjectSpace.garbage_collect
p ObjectSpace.each_object(Thread).count
w = ObjectSpace::WeakMap.new
w[keep[1]] = 1
p w.size
