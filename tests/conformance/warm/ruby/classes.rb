p Object.new.inspect[/#<Object:0x/], Class.new.name, Module.nesting, self.class.ancestors, Comparable.instance_of?(Module)
module M; refine(Integer) { def dbl = self * 2 }; end
class A; @@count = 0; CONST = 1; class << self; attr_accessor :x; end; protected def pro = 1; private def pri = 2; end
class B < A; prepend(Module.new { def to_s = "pre" + super }); def to_s = "B"; end
A.x = 3
p B.new.to_s, A.x, B.superclass, A.class_variables, A.instance_methods(false), A.private_instance_methods(false), B.ancestors.size
p A.subclasses, Class.subclasses.size, Module.constants.include?(:A), A.const_source_location(:CONST), Object.const_source_location("B")
B.new.pri
