#include "client/doctor/starters.h"

namespace sandglass::client {
namespace {

constexpr char kBash[] = R"(./sandglass-probe "$@"
exit $?
)";

constexpr char kPerl[] = R"(my $end = system './sandglass-probe', @ARGV;
exit($end & 127 ? 128 + ($end & 127) : $end >> 8);
)";

constexpr char kPython[] = R"(import subprocess, sys
end = subprocess.call(['./sandglass-probe'] + sys.argv[1:])
sys.exit(end if end >= 0 else 128 - end)
)";

constexpr char kRuby[] = R"(system('./sandglass-probe', *ARGV)
exit($?.exitstatus || 128 + $?.termsig)
)";

constexpr char kJavaScript[] = R"(const child = require('child_process');
const end = child.spawnSync('./sandglass-probe', process.argv.slice(2),
                            {stdio: 'inherit'});
process.exit(end.status === null ? 128 : end.status);
)";

constexpr char kJava[] = R"(import java.util.*;
public class Main {
  public static void main(String[] args) throws Exception {
    List<String> command = new ArrayList<>(List.of("./sandglass-probe"));
    command.addAll(Arrays.asList(args));
    System.exit(new ProcessBuilder(command).inheritIO().start().waitFor());
  }
}
)";

constexpr char kGo[] = R"(package main

import (
	"os"
	"os/exec"
)

func main() {
	child := exec.Command("./sandglass-probe", os.Args[1:]...)
	child.Stdin, child.Stdout, child.Stderr = os.Stdin, os.Stdout, os.Stderr
	child.Run()
	if child.ProcessState == nil || child.ProcessState.ExitCode() < 0 {
		os.Exit(128)
	}
	os.Exit(child.ProcessState.ExitCode())
}
)";

constexpr char kCpp[] = R"(#include <sys/wait.h>
#include <unistd.h>
int main(int, char** argv) {
  char name[] = "./sandglass-probe";
  argv[0] = name;
  const pid_t child = fork();
  if (child == 0) {
    execv(name, argv);
    _exit(127);
  }
  int end = 0;
  waitpid(child, &end, 0);
  return WIFEXITED(end) ? WEXITSTATUS(end) : 128;
}
)";

constexpr Starter kStarters[] = {
    {"bash", kBash, nullptr, nullptr},
    {"perl", kPerl, nullptr, nullptr},
    {"python", kPython, "PYTHONHASHSEED", "0"},
    {"ruby", kRuby, "RUBYSHELL", "/bin/sh"},
    {"javascript", kJavaScript, "UV_USE_IO_URING", "0"},
    {"java", kJava, "NLSPATH", ""},
    {"cpp", kCpp, nullptr, nullptr},
    {"go", kGo, nullptr, nullptr},
};

}  // namespace

const Starter* FindStarter(absl::string_view language) {
  for (const Starter& starter : kStarters) {
    if (starter.language == language) return &starter;
  }
  return nullptr;
}

}  // namespace sandglass::client
