config = { db: { user: "a", ports: [1, 2, 3] }, mode: "x" }
case config
in { db: { user:, ports: [first, *] }, mode: "x" | "y" => mode }
  p user, first, mode
end
case [1, [2, 3]]
in [Integer => a, [b, *c]] if a < b
  p a, b, c
end
p(1 in String)
in_point = { x: 1 } => { x: }
p x
case 5
in 0..3 then p :low
in 4.. then p :high
end
case [1, 2]
in [a] then 1
end
