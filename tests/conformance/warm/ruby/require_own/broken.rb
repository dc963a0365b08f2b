def fine
  1 +
end
