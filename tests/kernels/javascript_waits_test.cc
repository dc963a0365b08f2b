// What cells of JavaScript wait for, and whose a late error is.

#include <string>
#include <vector>

#include "absl/strings/escaping.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/kernels/kernel_process.h"

namespace sandglass::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

class JavaScriptWaits : public ::testing::Test {
 protected:
  CellResult Run(const std::string& code) {
    CellResult result = kernel_.Run(code);
    EXPECT_EQ(result.status, "ok") << code << "\n" << result;
    return result;
  }
  KernelProcess kernel_{{.language = "javascript"}};
};

TEST_F(JavaScriptWaits, ForCallbacks) {
  Run("const fs = require('fs'), http = require('http'); "
      "const say = (...all) => console.log(...all)");
  for (const char* code :
       {"setTimeout(say, 50, 'end'); 0",
        "setImmediate(() => process.nextTick(say, 'end')); 0",
        "fs.readFile('/dev/null', 'utf8', (e, t) => say('end' + t)); 0",
        "require('child_process').exec('sleep 0.1; echo end', (e, out) => "
        "say(out.trim())); 0",
        "const {Worker} = require('worker_threads'); new Worker("
        "'setTimeout(() => console.log(\"end\"), 50)', {eval: true}); 0",
        "require('crypto').pbkdf2('a', 'b', 9, 9, 'sha1', () => say('end')); 0",
        "require('zlib').gzip('x', () => say('end')); 0",
        "(async () => { await null; await new Promise((resolve) => "
        "setTimeout(resolve, 50)); say('end'); })(); 0",
        "const s = http.createServer((ask, answer) => setTimeout(() => "
        "answer.end('end'), 50)).listen(0, '127.0.0.1', () => http.get({port: "
        "s.address().port, host: '127.0.0.1'}, (answer) => { "
        "answer.pipe(process.stdout, {end: false}); answer.on('end', () => "
        "{ say(); s.close(); }); })); 0",
        "process.once('beforeExit', () => setTimeout(say, 50, 'end')); 0",
        "process.stdin.on('end', () => say('end')).resume(); 0"}) {
    EXPECT_EQ(Run(code).out, "end\n") << code;
  }
  const CellResult lines = kernel_.Run(
      "require('readline').createInterface({input: process.stdin})"
      ".on('line', (line) => say(line)).on('close', () => say('closed')); 0",
      {{"stdin", absl::Base64Escape("a\nb")}});
  EXPECT_EQ(lines.out, "a\nb\nclosed\n") << lines;
}

TEST_F(JavaScriptWaits, NotForWhatGoesOn) {
  const CellResult started =
      Run("const s = require('net').createServer((c) => c.on('data', (d) => "
          "c.write(d))).listen(0, '127.0.0.1'); "
          "const ticks = setInterval(() => {}, 10); "
          "require('fs').watchFile('/dev/null', () => {}); 0");
  EXPECT_THAT(started.err, StartsWith("goes on after this cell: "));
  for (const char* what : {"a server at 127.0.0.1:", "an interval of 10 ms",
                           "a watch of a file"}) {
    EXPECT_THAT(started.err, HasSubstr(what));
  }
  // A connection at which nothing happens, and what is started by what goes on.
  const CellResult idle = Run(
      "const c = require('net').connect(s.address().port, '127.0.0.1', () => "
      "c.write('echo\\n')); c.on('data', (d) => process.stdout.write(d)); "
      "clearInterval(ticks); "
      "const more = setInterval(() => setTimeout(() => {}, 1e9), 10); 0");
  EXPECT_EQ(idle.out, "echo\n");
  EXPECT_THAT(idle.err, HasSubstr("a connection to 127.0.0.1:")) << idle;
  EXPECT_THAT(idle.err, HasSubstr("an interval of 10 ms")) << idle;
  const CellResult later =
      Run("clearInterval(more); c.write('again\\n'); "
          "await new Promise((resolve) => c.once('data', resolve)); c.end(); "
          "s.close(); 0");
  EXPECT_EQ(later.out, "again\n");
  EXPECT_EQ(later.err, "");
  EXPECT_EQ(Run("console.log(Promise.resolve(1))").out, "Promise { 1 }\n");
}

TEST_F(JavaScriptWaits, NotForWhatNothingSettles) {
  const CellResult stuck =
      kernel_.Run("const x = 'kept'; await new Promise(() => {}); 'no'");
  EXPECT_EQ(stuck.status, "error") << stuck;
  EXPECT_EQ(stuck.exit_code, 13);
  EXPECT_EQ(stuck.Error("name"), "UnsettledAwait");
  EXPECT_THAT(stuck.Error("value"), HasSubstr("nothing settles"));
  EXPECT_EQ(Run("new Promise(() => {})").Shown(), "Promise { <pending> }\n");
  EXPECT_EQ(Run("x").Shown(), "'kept'\n");
}

TEST_F(JavaScriptWaits, ForWhatTheLoopDoesNotCount) {
  Run("const {Worker} = require('worker_threads'); const w = new Worker(`const "
      "{parentPort} = require('worker_threads'); parentPort.on('message', (m) "
      "=> setTimeout(() => parentPort.postMessage(m + 1), 200))`, {eval: "
      "true}); w.unref(); 0");
  EXPECT_EQ(Run("w.postMessage(4); await new Promise((resolve) => "
                "w.once('message', resolve))")
                .Shown(),
            "5\n");
  EXPECT_EQ(Run("await new Promise((resolve) => { const i = setInterval(() => "
                "{ clearInterval(i); setTimeout(resolve, 50, 6); }, 10); })")
                .Shown(),
            "6\n");
  EXPECT_EQ(kernel_.Run("await w.terminate(); await new Promise(() => {})")
                .Error("name"),
            "UnsettledAwait");
}

TEST_F(JavaScriptWaits, ListenersAreTheCellsOwn) {
  EXPECT_EQ(Run("process.listenerCount('uncaughtException') + "
                "process.listenerCount('beforeExit')")
                .Shown(),
            "0\n");
  Run("process.removeAllListeners('beforeExit'); 0");
  Run("setTimeout(() => process.removeAllListeners('beforeExit'), 10); 0");
  Run("process.removeAllListeners(); 0");
  EXPECT_EQ(kernel_.Run("Promise.reject(new Error('late')); 0").exit_code, 1);
  kernel_.InterruptLater(absl::Milliseconds(300));
  EXPECT_EQ(kernel_.Run("setTimeout(() => {}, 1e9); 0").exit_code, 130);
  EXPECT_EQ(Run("for (const name of ['uncaughtException', "
                "'unhandledRejection']) process.once(name, (e) => "
                "console.log('took', e.message)); setTimeout(() => { throw new "
                "Error('it'); }, 1); Promise.reject(new Error('this')); 0")
                .out,
            "took this\ntook it\n");
  const CellResult failed = kernel_.Run(
      "process.once('beforeExit', () => { throw new Error('no'); }); 0");
  EXPECT_EQ(failed.Error("value"), "no") << failed;
}

TEST_F(JavaScriptWaits, AnErrorIsOfTheCellThatCausedIt) {
  for (const char* code :
       {"setTimeout(() => { throw new Error('late'); }, 50); 0",
        "setTimeout(() => Promise.reject(new Error('late')), 50); 0",
        "(async () => { await new Promise((resolve) => setTimeout(resolve, "
        "50)); throw new Error('late'); })(); 0",
        "require('fs').readFile('/dev/null', () => { throw new "
        "Error('late'); }); 0"}) {
    const CellResult failed = kernel_.Run(code);
    EXPECT_EQ(failed.exit_code, 1) << code << failed;
    EXPECT_EQ(failed.Error("value"), "late");
  }
  Run("var go; setInterval(() => { if (go) { go(); "
      "throw new Error('of the fifth'); } }, 1); 0");
  const CellResult next =
      Run("await new Promise((resolve) => { go = resolve; }); "
          "await new Promise((resolve) => setTimeout(resolve, 50)); 'fine'");
  EXPECT_THAT(next.err,
              StartsWith("Uncaught in cell 5, which had ended: Error: of the "
                         "fifth\n    at Timeout"));
  EXPECT_THAT(next.err, HasSubstr("<cell-5>:1:"));
  EXPECT_EQ(next.Shown(), "'fine'\n");
}

TEST_F(JavaScriptWaits, WhatACellsEndLeavesIsEnded) {
  for (const char* code :
       {"setTimeout(() => console.log('late'), 50); throw new Error()",
        "setTimeout(() => console.log('late'), 50); "
        "setTimeout(() => process.exit(1), 10); 0",
        "setInterval(() => console.log('late'), 50); throw new Error()"}) {
    EXPECT_EQ(kernel_.Run(code).exit_code, 1) << code;
    EXPECT_EQ(
        Run("await new Promise((resolve) => setTimeout(resolve, 100)); 0").out,
        "");
  }
}

TEST_F(JavaScriptWaits, WhatIsReferencedAndIdleHoldsNoCell) {
  for (const char* code :
       {"require('dgram').createSocket('udp4'); 1",
        "require('child_process').spawn('sleep', ['1'], {stdio: ['pipe', "
        "'ignore', 'ignore']}).unref(); 1"}) {
    EXPECT_EQ(kernel_.Run(code).status, "ok") << code;
  }
  EXPECT_EQ(Run("2").Shown(), "2\n");
}

TEST_F(JavaScriptWaits, AreInterrupted) {
  Run("0");  // it has started
  for (const auto& [code, what] :
       std::vector<std::pair<const char*, const char*>>{
           {"setTimeout(() => {}, 1e9); 0", "Timeout"},
           {"require('child_process').spawn('sleep', ['600']); 0",
            "ProcessWrap"},
           {"const {Worker} = require('worker_threads'); "
            "new Worker('for (;;);', {eval: true}); 0",
            "a thread"},
           {"(async () => { for (;;) { await new Promise((resolve) => "
            "setTimeout(resolve, 9)); console.log('x'); } })(); 0",
            "Timeout"}}) {
    kernel_.InterruptLater(absl::Milliseconds(300));
    const CellResult stopped = kernel_.Run(code);
    EXPECT_EQ(stopped.exit_code, 130) << stopped;
    EXPECT_THAT(stopped.Error("value"), HasSubstr(what));
    EXPECT_EQ(
        Run("await new Promise((resolve) => setTimeout(resolve, 50)); 0").out,
        "");
  }
}

}  // namespace
}  // namespace sandglass::testing
