// rt.js: a small host for lean.wasm (an emscripten pthread build) under Node 24 or later.
// Main thread: compiles module, owns memory, spawns workers. All Lean code runs in workers.
'use strict';
const wt = require('worker_threads'),
  fs = require('fs'),
  path = require('path');
const IS_MAIN = wt.isMainThread;
let mem, buf, HEAP8, HEAPU8, HEAP16, HEAP32, HEAPU32, HEAP64, HEAPU64, HEAPF64, BUF;
function views() {
  const b = mem.buffer;
  buf = b;
  HEAP8 = new Int8Array(b);
  HEAPU8 = new Uint8Array(b);
  HEAP16 = new Int16Array(b);
  HEAP32 = new Int32Array(b);
  HEAPU32 = new Uint32Array(b);
  HEAP64 = new BigInt64Array(b);
  HEAPU64 = new BigUint64Array(b);
  HEAPF64 = new Float64Array(b);
  BUF = Buffer.from(b);
}
const H = () => {};
let X, table, opts; // exports, function table, options
function cstr(p) {
  H();
  p >>>= 0;
  let e = p;
  while (HEAPU8[e]) e++;
  return BUF.toString('utf8', p, e);
}
function putCstr(s, p, max) {
  p >>>= 0;
  const b = Buffer.from(s, 'utf8');
  const n = Math.min(b.length, max - 1);
  HEAPU8.set(b.subarray(0, n), p);
  HEAPU8[p + n] = 0;
  return n;
}
function newCstr(s) {
  const b = Buffer.from(s, 'utf8');
  const p = X.malloc(b.length + 1) >>> 0;
  HEAPU8.set(b, p);
  HEAPU8[p + b.length] = 0;
  return p;
}
const E = {
  EPERM: 63,
  ENOENT: 44,
  EINTR: 27,
  EIO: 29,
  EBADF: 8,
  EAGAIN: 6,
  ENOMEM: 48,
  EACCES: 2,
  EBUSY: 10,
  EEXIST: 20,
  EXDEV: 75,
  ENOTDIR: 54,
  EISDIR: 31,
  EINVAL: 28,
  ENFILE: 41,
  EMFILE: 33,
  ENOTTY: 59,
  ETXTBSY: 74,
  EFBIG: 22,
  ENOSPC: 51,
  ESPIPE: 70,
  EROFS: 69,
  EMLINK: 34,
  EPIPE: 64,
  ERANGE: 68,
  ENOSYS: 52,
  ENOTEMPTY: 55,
  ENAMETOOLONG: 37,
  ELOOP: 32,
  ENOTSUP: 138,
};
const ENOSYS = -52;
const T =
  (f) =>
  (...a) => {
    try {
      return f(...a);
    } catch (e) {
      if (e && e.code && E[e.code] !== undefined) return -E[e.code];
      if (e && e.code && e.syscall) return -29;
      throw e;
    }
  };
const TW =
  (f) =>
  (...a) => {
    const r = T(f)(...a);
    return r < 0 ? -r : r;
  };
// ---- exceptions (emscripten JS exceptions)
let exceptionLast = 0,
  uncaught = 0;
const caughtStack = [];
const EX = (p0, p = p0 >>> 0) => ({
  // layout as in emscripten ExceptionInfo
  get type() {
    H();
    return HEAPU32[(p - 20) >>> 2];
  },
  set type(v) {
    H();
    HEAPU32[(p - 20) >>> 2] = v;
  },
  set destr(v) {
    H();
    HEAPU32[(p - 16) >>> 2] = v;
  },
  get caught() {
    H();
    return HEAP8[p - 12] !== 0;
  },
  set caught(v) {
    H();
    HEAP8[p - 12] = v ? 1 : 0;
  },
  get rethrown() {
    H();
    return HEAP8[p - 11] !== 0;
  },
  set rethrown(v) {
    H();
    HEAP8[p - 11] = v ? 1 : 0;
  },
  set adj(v) {
    H();
    HEAPU32[(p - 8) >>> 2] = v;
  },
  get adj() {
    H();
    return HEAPU32[(p - 8) >>> 2];
  },
});
function findMatchingCatch(args) {
  const thrown = exceptionLast;
  if (!thrown) {
    X._emscripten_tempret_set(0);
    return 0;
  }
  const info = EX(thrown);
  info.adj = thrown;
  const ty = info.type;
  if (!ty) {
    X._emscripten_tempret_set(0);
    return thrown;
  }
  for (const c of args) {
    if (c === 0 || c === ty) break;
    if (X.__cxa_can_catch(c, ty, thrown - 8)) {
      X._emscripten_tempret_set(c);
      return thrown;
    }
  }
  X._emscripten_tempret_set(ty);
  return thrown;
}
const cwd0 = process.cwd(); // never changes (chdir is not supported)
function rp(p) {
  return path.isAbsolute(p)
    ? p
    : p === ''
      ? (() => {
          const e = new Error();
          e.code = 'ENOENT';
          throw e;
        })()
      : cwd0 + '/' + p;
}
function at(dirfd, p) {
  p = cstr(p);
  if (p.startsWith('/')) return p;
  if (dirfd === -100) return rp(p);
  return fs.readlinkSync('/proc/self/fd/' + dirfd) + (p ? '/' + p : '');
}
function wstat(bp, s) {
  H();
  bp >>>= 0;
  HEAPU32[bp >>> 2] = s.dev;
  HEAPU32[(bp + 4) >>> 2] = s.mode;
  HEAPU32[(bp + 8) >>> 2] = s.nlink;
  HEAPU32[(bp + 12) >>> 2] = s.uid;
  HEAPU32[(bp + 16) >>> 2] = s.gid;
  HEAPU32[(bp + 20) >>> 2] = s.rdev;
  HEAP64[(bp + 24) >>> 3] = BigInt(s.size);
  HEAP32[(bp + 32) >>> 2] = 4096;
  HEAP32[(bp + 36) >>> 2] = s.blocks;
  const tm = (o, ms) => {
    HEAP64[(bp + o) >>> 3] = BigInt(Math.floor(ms / 1e3));
    HEAPU32[(bp + o + 8) >>> 2] = Math.floor((ms % 1e3) * 1e6);
  };
  tm(40, s.atimeMs);
  tm(56, s.mtimeMs);
  tm(72, s.ctimeMs);
  HEAP64[(bp + 88) >>> 3] = BigInt(s.ino);
  return 0;
}
const dirs = new Map();
let fd0 = -1;
function stdinFd() {
  if (fd0 < 0) {
    fd0 = 0;
    try {
      const s = fs.fstatSync(0);
      if (s.isFIFO() || s.isCharacterDevice())
        fd0 = fs.openSync('/proc/self/fd/0', fs.constants.O_RDONLY | fs.constants.O_NONBLOCK);
    } catch {
      fd0 = 0;
    }
  }
  return fd0;
}
const SLEEP = new Int32Array(new SharedArrayBuffer(4));
function rd(fd, iov, cnt, pos) {
  let tot = 0;
  iov >>>= 0;
  if (fd === 0) fd = stdinFd();
  let nap = 1;
  for (let i = 0; i < cnt; i++) {
    const p = HEAPU32[(iov + 8 * i) >>> 2],
      l = HEAPU32[(iov + 8 * i + 4) >>> 2];
    if (!l) continue;
    let n;
    for (;;) {
      try {
        n = fs.readSync(fd, HEAPU8, p, l, pos === null ? null : pos);
        break;
      } catch (e) {
        if (e.code === 'EAGAIN') {
          Atomics.wait(SLEEP, 0, 0, nap);
          if (nap < 4) nap++;
          continue;
        }
        if (e.code === 'EOF') {
          n = 0;
          break;
        }
        throw e;
      }
    }
    tot += n;
    if (pos !== null) pos += n;
    if (n < l) break;
  }
  return tot;
}
function writeAll(fd, b, pos) {
  let o = 0;
  while (o < b.length) {
    let n;
    try {
      n = fs.writeSync(fd, b, o, b.length - o, pos === null ? null : pos + o);
    } catch (e) {
      if (e.code === 'EAGAIN') {
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 5);
        continue;
      }
      throw e;
    }
    o += n;
  }
  return o;
}
function wr(fd, iov, cnt, pos) {
  iov >>>= 0;
  let parts = [];
  for (let i = 0; i < cnt; i++) {
    const p = HEAPU32[(iov + 8 * i) >>> 2],
      l = HEAPU32[(iov + 8 * i + 4) >>> 2];
    if (l) parts.push(Buffer.from(HEAPU8.slice(p, p + l).buffer));
  }
  if (!parts.length) return 0;
  const b = parts.length === 1 ? parts[0] : Buffer.concat(parts);
  if (pos === null && fd === 2 && opts.filter) {
    stdioWrite(fd, b);
    return b.length;
  }
  return writeAll(fd, b, pos);
}
// stdout/stderr filter: complete lines, dropping the port's debug chatter. State is per worker.
const pend = { 2: Buffer.alloc(0) };
const DBG = /^\[DEBUG:(?:[A-N]|IMPORT|GO|FIND|FINALIZE|IO_ERROR|INIT)\]|^  - .*\.olean$|^  mainModule\? = /;
function stdioWrite(fd, b) {
  let x = pend[fd].length ? Buffer.concat([pend[fd], b]) : b;
  let out = [];
  let s = 0;
  for (;;) {
    const k = x.indexOf(10, s);
    if (k < 0) break;
    const line = x.subarray(s, k + 1);
    const t = line.toString('latin1', 0, Math.min(line.length - 1, 400));
    if (!DBG.test(t)) out.push(line);
    s = k + 1;
  }
  let rest = x.subarray(s);
  if (
    rest.length &&
    !('[DEBUG:'.startsWith(rest.toString('latin1', 0, 7)) || rest[0] === 91 || rest[0] === 32)
  ) {
    out.push(rest);
    rest = Buffer.alloc(0);
  }
  pend[fd] = Buffer.from(rest);
  if (out.length) writeAll(fd, Buffer.concat(out), null);
}
function flushStdio() {
  for (const fd of [2])
    if (pend[fd].length) {
      const t = pend[fd].toString('latin1');
      if (!DBG.test(t)) writeAll(fd, pend[fd], null);
      pend[fd] = Buffer.alloc(0);
    }
}
let symtab = null;
function dlsym(sp) {
  H();
  return dlsymIn(HEAPU8, sp >>> 0);
}
function dlsymIn(M, sp) {
  if (!symtab) symtab = new Uint32Array(opts.syms);
  let h1 = 2166136261,
    h2 = 0x9747b28c;
  for (let i = sp; M[i]; i++) {
    const c = M[i];
    h1 ^= c;
    h1 = Math.imul(h1, 16777619);
    h2 ^= c;
    h2 = Math.imul(h2, 16777619);
  }
  h1 >>>= 0;
  h2 = (h2 | 1) >>> 0;
  const size = symtab.length / 3;
  let i = h1 & (size - 1);
  while (symtab[3 * i + 1]) {
    if (symtab[3 * i] === h1 && symtab[3 * i + 1] === h2) return symtab[3 * i + 2] | 0;
    i = (i + 1) & (size - 1);
  }
  return 0;
}
const GETENV = 943522,
  APPPATH = 943765;
function asmConst(code, sigp, args) {
  if (code === GETENV) {
    H();
    const n = cstr(HEAPU32[args >>> 2]);
    const v = opts.env[n];
    return v === undefined ? 0 : newCstr(v);
  }
  if (code === APPPATH) return newCstr(opts.appPath);
  if (code === 941618) ranShell = true;
  if (opts.trace) fs.writeSync(2, '[asm ' + code + ' ' + (performance.now() | 0) + ']\n');
  if (code === 942554 && opts.trace) fs.writeSync(2, '[ioerr ' + cstr(HEAPU32[args >>> 2]) + ']\n');
  if (code === 943294) {
    H();
    fs.writeSync(
      2,
      'lean: assertion violation ' + cstr(HEAPU32[args >>> 2]) + ':' + HEAP32[(args + 4) >>> 2] + '\n',
    );
  }
  return 0;
}
let ranShell = false;
function writeTm(d, p, utc) {
  H();
  const g = utc ? 'getUTC' : 'get';
  HEAP32[p >>> 2] = d[g + 'Seconds']();
  HEAP32[(p + 4) >>> 2] = d[g + 'Minutes']();
  HEAP32[(p + 8) >>> 2] = d[g + 'Hours']();
  HEAP32[(p + 12) >>> 2] = d[g + 'Date']();
  HEAP32[(p + 16) >>> 2] = d[g + 'Month']();
  HEAP32[(p + 20) >>> 2] = d[g + 'FullYear']() - 1900;
  HEAP32[(p + 24) >>> 2] = d[g + 'Day']();
  HEAP32[(p + 28) >>> 2] = 0;
  HEAP32[(p + 32) >>> 2] = 0;
  HEAP32[(p + 36) >>> 2] = 0;
}
const t00 = performance.timeOrigin;
const env = {
  emscripten_asm_const_int: asmConst,
  __cxa_throw(p, t, d) {
    const i = EX(p);
    i.adj = 0;
    i.type = t;
    i.destr = d;
    exceptionLast = p;
    uncaught++;
    throw exceptionLast;
  },
  __cxa_begin_catch(p) {
    const i = EX(p);
    if (!i.caught) {
      i.caught = true;
      uncaught--;
    }
    i.rethrown = false;
    caughtStack.push(p);
    X.__cxa_increment_exception_refcount(p);
    return X.__cxa_get_exception_ptr(p);
  },
  __cxa_end_catch() {
    X.setThrew(0, 0);
    const p = caughtStack.pop();
    X.__cxa_decrement_exception_refcount(p);
    exceptionLast = 0;
  },
  __cxa_rethrow() {
    const p = caughtStack.pop();
    if (!p) throw new Error('no exception to throw');
    const i = EX(p);
    if (!i.rethrown) {
      caughtStack.push(p);
      i.rethrown = true;
      i.caught = false;
      uncaught++;
    }
    exceptionLast = p;
    throw exceptionLast;
  },
  __cxa_rethrow_primary_exception(p) {
    if (!p) return;
    const i = EX(p);
    caughtStack.push(p);
    i.rethrown = true;
    env.__cxa_rethrow();
  },
  __cxa_current_primary_exception() {
    if (!caughtStack.length) return 0;
    const p = caughtStack[caughtStack.length - 1];
    X.__cxa_increment_exception_refcount(p);
    return p;
  },
  __cxa_uncaught_exceptions: () => uncaught,
  __resumeException(p) {
    if (!exceptionLast) exceptionLast = p;
    throw exceptionLast;
  },
  llvm_eh_typeid_for: (t) => t,
  exit: (c) => exitProcess(c),
  _emscripten_throw_longjmp() {
    throw Infinity;
  },
  uv__hrtime: () => process.hrtime.bigint(),
  __assert_fail(c, f, l, fn) {
    fs.writeSync(2, 'Assertion failed: ' + cstr(c) + ' at ' + cstr(f) + ':' + l + '\n');
    exitProcess(134);
  },
  __syscall_fcntl64(fd, cmd, va) {
    if (cmd === 0) return 24;
    if (cmd === 3) return 2;
    return 0;
  },
  __syscall_ioctl: () => -59,
  __syscall_openat: T((dirfd, p, flags, va) => {
    H();
    const mode = flags & 64 && va ? HEAPU32[va >>> 2] : 0o666;
    const fp = at(dirfd, p);
    if (fp.endsWith('/default.profraw')) return -44;
    const fd = fs.openSync(fp, flags & 0o6203703, mode);
    if (flags & 0o200000) dirs.set(fd, null);
    return fd;
  }),
  emscripten_get_now: () => performance.now(),
  _tzset_js(tz, dl, std, dst) {
    H();
    const off = new Date().getTimezoneOffset();
    HEAP32[tz >>> 2] = off * 60;
    HEAP32[dl >>> 2] = 0;
    putCstr('UTC', std, 17);
    putCstr('UTC', dst, 17);
  },
  _abort_js() {
    fs.writeSync(2, 'lean: abort\n');
    exitProcess(134);
  },
  __syscall_faccessat: T((d, p, m, f) => {
    fs.accessSync(at(d, p), m & 7);
    return 0;
  }),
  __syscall_chdir: () => ENOSYS,
  __syscall_chmod: T((p, m) => {
    fs.chmodSync(at(-100, p), m & 0o7777);
    return 0;
  }),
  __syscall_fchownat: () => 0,
  __syscall_dup: T((fd) => fs.openSync('/proc/self/fd/' + fd, fs.constants.O_RDWR)),
  __syscall_dup3: () => ENOSYS,
  _dlsym_catchup_js: () => 0,
  _dlsym_js: (h, s, i) => dlsym(s),
  _emscripten_dlopen_js() {},
  _dlopen_js: () => 0,
  _emscripten_dlsync_threads() {},
  _emscripten_dlsync_threads_async() {},
  emscripten_promise_resolve() {},
  emscripten_promise_destroy() {},
  emscripten_promise_create: () => 0,
  _emscripten_log_formatted(f, s) {
    fs.writeSync(2, cstr(s) + '\n');
  },
  _munmap_js: () => 0,
  _msync_js: () => 0,
  _mmap_js: T((len, prot, flags, fd, off, alloc, addr) => {
    const p = X.emscripten_builtin_memalign(65536, len) >>> 0;
    if (!p) return -48;
    H();
    off = Number(off);
    let o = 0;
    while (o < len) {
      const n = fs.readSync(fd, HEAPU8, p + o, len - o, off + o);
      if (!n) break;
      o += n;
    }
    if (o < len) HEAPU8.fill(0, p + o, p + len);
    HEAP32[alloc >>> 2] = 1;
    HEAPU32[addr >>> 2] = p;
    return 0;
  }),
  emscripten_date_now: () => Date.now(),
  _emscripten_thread_set_strongref() {},
  emscripten_exit_with_live_runtime() {
    throw 'unwind';
  },
  emscripten_unwind_to_js_event_loop() {
    throw 'unwind';
  },
  __syscall_fchdir: () => ENOSYS,
  __syscall_fchmod: T((fd, m) => {
    fs.fchmodSync(fd, m & 0o7777);
    return 0;
  }),
  __syscall_fchmodat2: T((d, p, m) => {
    fs.chmodSync(at(d, p), m & 0o7777);
    return 0;
  }),
  __syscall_fchown32: () => 0,
  __syscall_fdatasync: () => 0,
  __syscall_fstat64: T((fd, b) => wstat(b, fs.fstatSync(fd))),
  __syscall_stat64: T((p, b) => wstat(b, fs.statSync(at(-100, p)))),
  __syscall_lstat64: T((p, b) => wstat(b, fs.lstatSync(at(-100, p)))),
  __syscall_newfstatat: T((d, p, b, f) => {
    const fp = at(d, p);
    return wstat(b, f & 256 ? fs.lstatSync(fp) : fs.statSync(fp));
  }),
  __syscall_ftruncate64: T((fd, l) => {
    fs.ftruncateSync(fd, Number(l));
    return 0;
  }),
  __syscall_getcwd: (b, n) => {
    const l = Buffer.byteLength(cwd0) + 1;
    if (n < l) return -68;
    putCstr(cwd0, b, n);
    return l;
  },
  __syscall_getdents64: T((fd, dp, count) => {
    dp >>>= 0;
    let st = dirs.get(fd);
    if (!st) {
      st = {
        i: 0,
        l: [
          { name: '.', t: 4 },
          { name: '..', t: 4 },
          ...fs
            .readdirSync('/proc/self/fd/' + fd, { withFileTypes: true })
            .map((d) => ({ name: d.name, t: d.isDirectory() ? 4 : d.isSymbolicLink() ? 10 : 8 })),
        ],
      };
      dirs.set(fd, st);
    }
    let pos = 0;
    while (st.i < st.l.length && pos + 280 <= count) {
      const e = st.l[st.i++];
      HEAP64[(dp + pos) >>> 3] = 1n;
      HEAP64[(dp + pos + 8) >>> 3] = BigInt(st.i * 280);
      HEAP16[(dp + pos + 16) >>> 1] = 280;
      HEAP8[dp + pos + 18] = e.t;
      putCstr(e.name, dp + pos + 19, 256);
      pos += 280;
    }
    return pos;
  }),
  _emscripten_init_main_thread_js(tb) {
    X._emscripten_thread_init(tb, 1, 1, 1, 65536, 0);
    X._emscripten_tls_init();
  },
  _emscripten_thread_mailbox_await() {},
  _emscripten_notify_mailbox_postmessage() {},
  _emscripten_lookup_name: () => 0,
  __syscall_mkdirat: T((d, p, m) => {
    fs.mkdirSync(at(d, p), m & 0o7777);
    return 0;
  }),
  __syscall_mknodat: () => ENOSYS,
  _timegm_js(p) {
    H();
    const d = Date.UTC(
      HEAP32[(p + 20) >>> 2] + 1900,
      HEAP32[(p + 16) >>> 2],
      HEAP32[(p + 12) >>> 2],
      HEAP32[(p + 8) >>> 2],
      HEAP32[(p + 4) >>> 2],
      HEAP32[p >>> 2],
    );
    return BigInt(Math.floor(d / 1000));
  },
  _mktime_js(p) {
    H();
    const d = new Date(
      HEAP32[(p + 20) >>> 2] + 1900,
      HEAP32[(p + 16) >>> 2],
      HEAP32[(p + 12) >>> 2],
      HEAP32[(p + 8) >>> 2],
      HEAP32[(p + 4) >>> 2],
      HEAP32[p >>> 2],
    );
    return BigInt(Math.floor(d.getTime() / 1000));
  },
  _localtime_js(t, p) {
    writeTm(new Date(Number(t) * 1000), p, false);
  },
  _gmtime_js(t, p) {
    writeTm(new Date(Number(t) * 1000), p, true);
  },
  __syscall_pipe: () => ENOSYS,
  __syscall_poll: () => 0,
  __syscall_fadvise64: () => 0,
  __syscall_fallocate: () => ENOSYS,
  _emscripten_get_progname(p, n) {
    putCstr('lean', p, n);
  },
  _emscripten_receive_on_main_thread_js: () => 0,
  emscripten_set_timeout: () => 0,
  emscripten_check_blocking_allowed() {},
  __pthread_create_js(ptr, attr, start, arg) {
    if (IS_MAIN) {
      spawn(ptr, start, arg);
      return 0;
    }
    wt.parentPort.postMessage({ cmd: 'spawn', ptr, start, arg });
    return 0;
  },
  _emscripten_thread_cleanup(t) {
    if (!IS_MAIN) wt.parentPort.postMessage({ cmd: 'cleanup', ptr: t });
  },
  _emscripten_thread_exit_joinable(t) {},
  _emscripten_runtime_keepalive_clear() {},
  __call_sighandler(fp, s) {
    table.get(fp)(s);
  },
  __syscall_readlinkat: T((d, p, b, n) => {
    const s = fs.readlinkSync(at(d, p));
    const x = Buffer.from(s);
    H();
    const l = Math.min(n, x.length);
    HEAPU8.set(x.subarray(0, l), b >>> 0);
    return l;
  }),
  __syscall_unlinkat: T((d, p, f) => {
    const fp = at(d, p);
    if (f === 512) fs.rmdirSync(fp);
    else fs.unlinkSync(fp);
    return 0;
  }),
  __syscall_rmdir: T((p) => {
    fs.rmdirSync(at(-100, p));
    return 0;
  }),
  __syscall_renameat: T((d, p, d2, p2) => {
    fs.renameSync(at(d, p), at(d2, p2));
    return 0;
  }),
  __syscall__newselect: () => 0,
  _setitimer_js: () => 0,
  __syscall_statfs64: () => ENOSYS,
  __syscall_fstatfs64: () => ENOSYS,
  __syscall_symlinkat: T((t, d, p) => {
    fs.symlinkSync(cstr(t), at(d, p));
    return 0;
  }),
  emscripten_num_logical_cores: () => opts.cores,
  emscripten_get_heap_max: () => mem.buffer.byteLength | 0,
  _emscripten_system: () => -1,
  __syscall_truncate64: T((p, l) => {
    fs.truncateSync(at(-100, p), Number(l));
    return 0;
  }),
  __syscall_utimensat: () => 0,
  emscripten_resize_heap: () => 0, // memory is created at its maximal (lazily committed) size
};
const wasi = {
  environ_sizes_get(c, s) {
    H();
    const e = Object.entries(opts.env).map(([k, v]) => k + '=' + v);
    HEAPU32[c >>> 2] = e.length;
    HEAPU32[s >>> 2] = e.reduce((a, x) => a + Buffer.byteLength(x) + 1, 0);
    return 0;
  },
  environ_get(pp, b) {
    pp >>>= 0;
    b >>>= 0;
    for (const [k, v] of Object.entries(opts.env)) {
      HEAPU32[pp >>> 2] = b;
      pp += 4;
      const s = k + '=' + v;
      b += putCstr(s, b, 1 << 20) + 1;
    }
    return 0;
  },
  fd_close: TW((fd) => {
    dirs.delete(fd);
    if (fd > 2) fs.closeSync(fd);
    return 0;
  }),
  fd_read: TW((fd, iov, c, out) => {
    const n = rd(fd, iov, c, null);
    H();
    HEAPU32[out >>> 2] = n;
    return 0;
  }),
  fd_write: TW((fd, iov, c, out) => {
    const n = wr(fd, iov, c, null);
    H();
    HEAPU32[out >>> 2] = n;
    return 0;
  }),
  fd_pread: TW((fd, iov, c, off, out) => {
    const n = rd(fd, iov, c, Number(off));
    H();
    HEAPU32[out >>> 2] = n;
    return 0;
  }),
  fd_pwrite: TW((fd, iov, c, off, out) => {
    const n = wr(fd, iov, c, Number(off));
    H();
    HEAPU32[out >>> 2] = n;
    return 0;
  }),
  fd_seek: TW((fd, off, wh, out) => seek(fd, off, wh, out)),
  fd_sync: () => 0,
  fd_fdstat_get: TW((fd, b) => {
    const s = fs.fstatSync(fd);
    b >>>= 0;
    HEAP8[b] = s.isDirectory() ? 3 : s.isFile() ? 4 : 2;
    HEAP16[(b + 2) >>> 1] = 0;
    HEAP64[(b + 8) >>> 3] = 0n;
    HEAP64[(b + 16) >>> 3] = 0n;
    return 0;
  }),
  random_get(p, n) {
    p >>>= 0;
    const t = require('crypto').randomBytes(n);
    HEAPU8.set(t, p);
    return 0;
  },
  proc_exit: (c) => exitProcess(c),
  clock_res_get(id, p) {
    H();
    HEAP64[p >>> 3] = 1000n;
    return 0;
  },
  clock_time_get(id, prec, p) {
    H();
    HEAP64[p >>> 3] =
      id === 0
        ? BigInt(Math.round((performance.timeOrigin + performance.now()) * 1e6))
        : process.hrtime.bigint();
    return 0;
  },
};
// Node has no lseek: keep explicit positions for regular files (fds are process wide, positions shared through a SAB)
let posArr; // BigInt64Array[4096] : current offset per fd ; -1 = not tracked
function seek(fd, off, wh, out) {
  const s = fs.fstatSync(fd);
  if (!s.isFile()) return 70;
  let cur = posArr[fd] >= 0n ? posArr[fd] : 0n;
  let n = wh === 0 ? off : wh === 1 ? cur + off : BigInt(s.size) + off;
  if (n < 0n) return 28;
  posArr[fd] = n;
  H();
  HEAP64[out >>> 3] = n;
  return 0;
}
function tracked(fd) {
  return fd > 2 && fd < 4096 && posArr[fd] >= 0n;
}
wasi.fd_read = TW((fd, iov, c, out) => {
  let n;
  if (tracked(fd)) {
    n = rd(fd, iov, c, Number(posArr[fd]));
    posArr[fd] += BigInt(n);
  } else n = rd(fd, iov, c, null);
  H();
  HEAPU32[out >>> 2] = n;
  return 0;
});
wasi.fd_write = TW((fd, iov, c, out) => {
  let n;
  if (tracked(fd)) {
    const ap = appendFds.has(fd);
    n = wr(fd, iov, c, ap ? null : Number(posArr[fd]));
    posArr[fd] += BigInt(n);
  } else n = wr(fd, iov, c, null);
  H();
  HEAPU32[out >>> 2] = n;
  return 0;
});
const appendFds = new Set();
{
  const o = env.__syscall_openat;
  env.__syscall_openat = (d, p, f, v) => {
    const fd = o(d, p, f, v);
    if (fd >= 0 && fd < 4096) {
      posArr[fd] = -1n;
      appendFds.delete(fd);
      if (!(f & 0o200000)) {
        try {
          if (fs.fstatSync(fd).isFile()) posArr[fd] = 0n;
        } catch {}
        if (f & 0o2000) appendFds.add(fd);
      }
    }
    if (opts.strace) fs.writeSync(2, '[open ' + cstr(p) + ' ' + fd + ']\n');
    return fd;
  };
}
function instantiate(module) {
  const E2 = new Proxy(env, {
    get(t, k) {
      if (k === 'memory') return mem;
      if (k in t) return t[k];
      if (k.startsWith('invoke_')) {
        const isJ = k[7] === 'j';
        return (idx, ...a) => {
          const sp = X.emscripten_stack_get_current();
          try {
            return table.get(idx)(...a);
          } catch (e) {
            X._emscripten_stack_restore(sp);
            if (e !== e + 0) throw e;
            X.setThrew(1, 0);
            if (isJ) return 0n;
          }
        };
      }
      if (k.startsWith('__cxa_find_matching_catch_')) return (...a) => findMatchingCatch(a);
      return (...a) => {
        if (opts && opts.trace) fs.writeSync(2, '[stub ' + k + ']\n');
        return ENOSYS;
      };
    },
    has() {
      return true;
    },
  });
  const got = new Proxy(
    {},
    {
      get(t, k) {
        return (t[k] ??= new WebAssembly.Global(
          { value: 'i32', mutable: true },
          dlsymIn(Buffer.from(k + '\0'), 0),
        ));
      },
      has() {
        return true;
      },
    },
  );
  const inst = new WebAssembly.Instance(module, {
    env: E2,
    wasi_snapshot_preview1: wasi,
    'GOT.func': got,
    'GOT.mem': got,
  });
  X = inst.exports;
  table = X.__indirect_function_table;
  return inst;
}
let miDoneF;
function miDone() {
  if (miDoneF === undefined) {
    const i = dlsymIn(Buffer.from('mi_thread_done\0'), 0);
    miDoneF = i ? table.get(i) : () => {};
  }
  miDoneF();
}
const MAIN_ROUTINE = 0x7fffff00;
let exiting = false;
function exitProcess(code) {
  if (IS_MAIN) {
    process.exit(code);
  }
  flushStdio();
  wt.parentPort.postMessage({ cmd: 'exit', code });
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0); // wait for main to end the process
}
// ---------------- worker side
function workerMain() {
  wt.parentPort.on('message', (m) => {
    if (m.cmd === 'load') {
      const t0 = performance.now();
      mem = m.mem;
      opts = m.opts;
      posArr = new BigInt64Array(opts.posBuf);
      views();
      instantiate(m.module);
      if (opts.trace)
        fs.writeSync(
          2,
          `[worker up ${performance.now().toFixed(0)}ms inst ${(performance.now() - t0).toFixed(0)}ms]\n`,
        );
    } else if (m.cmd === 'run') {
      const ptr = m.ptr;
      H();
      const hi = HEAPU32[(ptr + 52) >>> 2],
        sz = HEAPU32[(ptr + 56) >>> 2];
      X.emscripten_stack_set_limits(hi, hi - sz);
      X._emscripten_stack_restore(hi);
      X._emscripten_thread_init(ptr, 0, 0, 1, 0, 0);
      X._emscripten_tls_init();
      try {
        let r;
        if (m.start === MAIN_ROUTINE) {
          const a = opts.args;
          const argv = X.malloc(4 * (a.length + 1));
          for (let i = 0; i < a.length; i++) {
            const q = newCstr(a[i]);
            H();
            HEAPU32[(argv >>> 2) + i] = q;
          }
          H();
          HEAPU32[(argv >>> 2) + a.length] = 0;
          let code = X.__main_argc_argv(a.length, argv);
          if (!ranShell)
            code = a.some((x) =>
              /^(-[hvVg]|--(help|version|short-version|githash|features|print-prefix|print-libdir))$/.test(x),
            )
              ? 0
              : 1; // the port returns garbage for early exits
          exitProcess(code);
        } else {
          r = table.get(m.start)(m.arg);
          flushStdio();
          miDone();
          X._emscripten_thread_exit(r);
        }
      } catch (ex) {
        if (ex !== 'unwind') {
          flushStdio();
          if (ex instanceof RangeError && /call stack/i.test(ex.message)) {
            fs.writeSync(2, 'lean: stack overflow (deep recursion)\n');
            exitProcess(134);
          }
          let msg;
          if (typeof ex === 'number') {
            msg = 'uncaught C++ exception';
            try {
              const vt = HEAPU32[ex >>> 2];
              const w = cstr(table.get(HEAPU32[(vt + 8) >>> 2])(ex));
              msg += ': ' + w.split('\n')[0].slice(0, 400);
            } catch {}
          } else
            msg =
              ex && ex.stack
                ? ex.stack
                    .split('\n')
                    .slice(0, opts.trace ? 60 : 6)
                    .join('\n')
                : String(ex);
          fs.writeSync(2, 'lean: fatal: ' + msg + '\n');
          exitProcess(139);
        }
      }
    }
  });
}
// ---------------- main side
let module_, shared;
const idle = [];
const byPtr = new Map();
let nworkers = 0;
function newWorker(big) {
  const w = new wt.Worker(__filename, {
    trackUnmanagedFds: false,
    resourceLimits: { stackSizeMb: big ? opts.mainStackMb : opts.threadStackMb, maxOldGenerationSizeMb: 512 },
  });
  nworkers++;
  if (module_) load(w);
  w.on('message', (m) => {
    if (m.cmd === 'spawn') spawn(m.ptr, m.start, m.arg);
    else if (m.cmd === 'cleanup') {
      if (opts.trace) fs.writeSync(2, '[cleanup ' + m.ptr + ' ' + byPtr.size + ']\n');
      const tw = byPtr.get(m.ptr);
      byPtr.delete(m.ptr);
      if (tw && tw !== bigWorker) idle.push(tw);
      X._emscripten_thread_free_data(m.ptr);
    } else if (m.cmd === 'exit') {
      finish(m.code);
    }
  });
  w.on('error', (e) => {
    fs.writeSync(2, 'lean: worker error: ' + ((e && e.stack) || e) + '\n');
    finish(139);
  });
  w.on('exit', (c) => {
    if (!exiting) {
      fs.writeSync(2, 'lean: worker exited unexpectedly ' + c + '\n');
      finish(139);
    }
  });
  return w;
}
const load = (w) => w.postMessage({ cmd: 'load', mem, module: module_, opts: wopts });
let wopts;
function finish(code) {
  if (exiting) return;
  exiting = true;
  if (opts.onExit) opts.onExit(code);
  if (opts.serialize) serialize();
  process.reallyExit(code);
}
function spawn(ptr, start, arg) {
  if (opts.trace) fs.writeSync(2, `[spawn ${nworkers} idle ${idle.length} t=${performance.now() | 0}]\n`);
  let w = start === MAIN_ROUTINE ? bigWorker : idle.pop() || newWorker(false);
  byPtr.set(ptr, w);
  w.postMessage({ cmd: 'run', ptr, start, arg });
}
let bigWorker = null;
const nat = (s) => new Function('a', 'b', 'return ' + s);
function serialize() {
  try {
    if (opts.train) {
      require('v8').setFlagsFromString('--liftoff');
      require('v8').setFlagsFromString('--wasm-inlining');
    }
    const t = performance.now();
    const s = nat('%SerializeWasmModule(a)')(module_);
    fs.writeFileSync(opts.serialize, Buffer.from(s));
    fs.writeSync(2, `[serialized ${s.byteLength} in ${(performance.now() - t) | 0} ms]\n`);
  } catch (e) {
    fs.writeSync(2, 'serialize failed: ' + e + '\n');
  }
}
function start(o) {
  opts = o;
  opts.posBuf = new SharedArrayBuffer(8 * 4096);
  posArr = new BigInt64Array(opts.posBuf).fill(-1n);
  bigWorker = newWorker(true);
  for (let i = 0; i < o.pool; i++) idle.push(newWorker(false));
  const early = [bigWorker, ...idle];
  const tr = (s) => {
    if (opts.trace) fs.writeSync(2, `[main ${s} ${performance.now().toFixed(0)}]\n`);
  };
  tr('start');
  const v8 = require('v8');
  v8.setFlagsFromString('--allow-natives-syntax');
  let bytes = fs.readFileSync(o.wasm);
  tr('read');
  if (o.cache && fs.existsSync(o.cache)) {
    const c = fs.readFileSync(o.cache);
    tr('readcache');
    const ab =
      c.byteOffset === 0 && c.buffer.byteLength === c.length
        ? c.buffer
        : c.buffer.slice(c.byteOffset, c.byteOffset + c.length);
    module_ = nat('%DeserializeWasmModule(a,b)')(ab, bytes);
    tr('deser ' + (module_ !== undefined));
  }
  if (!module_) module_ = new WebAssembly.Module(bytes);
  if (o.train) {
    v8.setFlagsFromString('--no-liftoff');
    if (!process.env.WLEAN_INLINE) v8.setFlagsFromString('--no-wasm-inlining');
  }
  if (process.env.WLEAN_V8FLAGS)
    for (const f of process.env.WLEAN_V8FLAGS.split(' ')) v8.setFlagsFromString(f);
  tr('compiled');
  bytes = null;
  const sb = fs.readFileSync(o.symsFile);
  opts.syms = new SharedArrayBuffer(sb.length);
  new Uint8Array(opts.syms).set(sb);
  for (const pg of [65535, 32768, 16384, 8192]) {
    if (pg > (o.maxPages || 65535)) continue;
    try {
      mem = new WebAssembly.Memory({ initial: pg, maximum: pg, shared: true });
      break;
    } catch (e) {
      if (pg === 8192) throw e;
    }
  }
  views();
  wopts = {
    args: o.args,
    env: o.env,
    appPath: o.appPath,
    cores: o.cores,
    filter: o.filter,
    trace: o.trace,
    strace: o.strace,
    syms: opts.syms,
    posBuf: opts.posBuf,
  };
  for (const w of early) load(w);
  instantiate(module_);
  tr('inst');
  X.emscripten_stack_init && X.emscripten_stack_init();
  X.__wasm_call_ctors();
  tr('ctors');
  const attr = X.malloc(64),
    pp = X.malloc(4);
  X.pthread_attr_init(attr);
  X.pthread_attr_setstacksize(attr, o.shadowStackMb * 1048576);
  const r = X.pthread_create(pp, attr, MAIN_ROUTINE, 0);
  if (r !== 0) {
    fs.writeSync(2, 'pthread_create ' + r + '\n');
    process.exit(139);
  }
  if (!o.train && !o.serialize)
    setTimeout(() => {
      v8.setFlagsFromString('--expose-gc');
      try {
        require('vm').runInNewContext('gc')();
      } catch {}
      tr('gc');
    }, 50);
}
if (!IS_MAIN) workerMain();
module.exports = { start };
