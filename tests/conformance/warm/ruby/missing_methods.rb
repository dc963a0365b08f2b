class Ghost
  def method_missing(name, *args, **kw, &block)
    name.end_with?("?") ? [name, args, kw, block&.call] : super
  end
  def respond_to_missing?(name, all = false) = name.end_with?("?") || super
  def self.const_missing(name) = name
  def self.inherited(c) = (puts "inherited #{c}"; super)
  def self.method_added(m) = (puts "added #{m}")
  def later; end
end
class Sub < Ghost; end
p Ghost.new.real?(1, a: 2) { 3 }, Ghost.new.respond_to?(:x?), Ghost::Nowhere, Ghost.new.method(:y?).call
Ghost.new.unreal
