Process.kill("TERM", Process.pid)
