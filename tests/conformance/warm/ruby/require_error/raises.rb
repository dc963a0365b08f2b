module Inner
  def self.go = raise(ArgumentError, "in another file")
end
Inner.go
