from subprocess import check_output

output = check_output("/bin/echo child $((6*7))", shell=True, text=True)
print("got:", output, end="")
