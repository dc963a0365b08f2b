def inner(n) = n.zero? ? raise("deep down") : inner(n - 1)
class Thing
  def call
    [1].each { |x| yield x }
  end
end
Thing.new.call { inner(2) }
