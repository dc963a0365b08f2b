class Bad < StandardError
  def message = raise("no words")
end
raise Bad
