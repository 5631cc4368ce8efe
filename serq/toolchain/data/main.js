// main.js: the command `lean`; its arguments are lean's own.
'use strict';
const os = require('os');
const P = __dirname; // where the toolchain is installed
const E = process.env;
let args = process.argv.slice(2);
// default thread stack: 64 MiB instead of 8 MiB (the interpreter and kernel recurse deeply)
if (!args.some((x) => /^(-s|--tstack)/.test(x))) args = ['-s', E.WLEAN_TSTACK_KB ?? '65536', ...args];
const env = {};
for (const k of Object.keys(E)) if (!/^(WLEAN_|NODE_)/.test(k)) env[k] = E[k];
env.LEAN_SYSROOT = P; // a native Lean's setting must not leak in
const num = (k, d) => (E[k] ? +E[k] : d);
require('./rt.js').start({
  wasm: P + '/lean.wasm',
  symsFile: P + '/syms.bin',
  cache: E.WLEAN_CACHE ?? P + '/lean.cache',
  serialize: E.WLEAN_SERIALIZE,
  train: !!E.WLEAN_TRAIN,
  args: ['lean', ...args],
  env,
  appPath: P + '/bin/lean',
  cores: num('WLEAN_CORES', Math.max(1, Math.min(8, os.availableParallelism()))),
  pool: num('WLEAN_POOL', 1),
  maxPages: E.WLEAN_MAX_MEM_MB ? Math.min(65535, +E.WLEAN_MAX_MEM_MB * 16) : 65535,
  shadowStackMb: num('WLEAN_SHADOW_STACK_MB', 64),
  mainStackMb: num('WLEAN_STACK_MB', 1000),
  threadStackMb: num('WLEAN_THREAD_STACK_MB', 500),
  filter: !E.WLEAN_DEBUG,
  trace: !!E.WLEAN_TRACE,
  strace: !!E.WLEAN_STRACE,
});
