console.log(Reflect.ownKeys(process).map(String).sort().join(' '));
console.log(process.eventNames(), process.exitCode, process.umask().toString(8), process.ppid);
console.log(process.features, process.release.name, process.allowedNodeEnvironmentFlags.size > 100);
console.log(process.getuid(), process.getgid(), process.getgroups(), process.connected, process.channel);
console.log(process._getActiveHandles().length, process._getActiveRequests().length);
console.log(process.getActiveResourcesInfo());
console.log(process.noDeprecation, process.throwDeprecation, process.traceDeprecation);
