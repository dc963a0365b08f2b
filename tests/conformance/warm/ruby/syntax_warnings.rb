# A warning of the parser's comes without -w.
p (1..2).to_a
p [1, 1, 2].tally
if (a = 1) then p a end
case 1
when 1 then p 1
when 1 then p 2
end
{ a: 1, a: 2 }
