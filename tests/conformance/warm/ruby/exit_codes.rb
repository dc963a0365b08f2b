begin
  exit 4
rescue SystemExit => e
  p e.status, e.message, e.backtrace
end
begin
  exit(false)
rescue SystemExit => e
  p e.status
end
begin
  abort
rescue SystemExit => e
  p e.status, e.message
end
exit 300
