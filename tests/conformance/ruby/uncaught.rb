def inner
  raise "boom-42"
end

def outer
  inner
end

outer
