class A
  def b
    1
end
