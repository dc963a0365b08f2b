module Plus
  def plus(left, right)
    left + right
  end
end
