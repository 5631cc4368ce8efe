import Serq.Papers.KongMath
import Serq.Thm.Fill
/-!
# Smallest Volume First: what one command does
-/

namespace Serq.Papers.KongSvf

open KongMath

/-! ## The program in pieces -/

/-- The volume, as the program writes it. -/
def volE : Expr :=
  .Binary .Add (.Binary .Mul (.Attr 9) (.Attr 10))
    (.Call .Floor (.Binary .Add (.Binary .Mul (.Attr 10) (.Attr 10)) (.Attr 10)) (.Num 2))

/-- After the hold. -/
def rest : Block := .Observe 2 (.CtxVar .Now) .End

/-- Within the hold. -/
def body : Block := .Run { base := 0 } .Decode (.Attr 10) none .Done

/-- What the hold takes. -/
def takes : List HoldPool :=
  [{ pool := { base := 0 }, units := .Binary .Add (.Attr 9) (.Attr 10) }]

/-- From the hold on. -/
def wait : Block := .Hold takes none body none rest

/-- The sessions' program. -/
def prog : Block := .Turn (.Observe 0 (.Attr 10) (.Observe 1 volE wait))

/-- The engine, the pool and the stages. What stands here is independent of the generated statements;
that the two are the same is checked where the claims are proved. -/
def deployment : Deployment :=
  { pools := [{ cap := 20000, queue := [volE] }], stages := [.Step], budget := 1000000 }

/-- The requests: the prompts and the outputs. -/
structure Requests where
  s : Nat → Nat
  o : Nat → Nat

/-- What a request holds while it is served. -/
def Requests.peak (q : Requests) (i : Nat) : Nat := q.s i + q.o i

/-- The volume of a request. -/
def Requests.vol (q : Requests) (i : Nat) : Nat := volume (q.s i) (q.o i)

/-- The attributes of a session that is request `i`. -/
def Brings (q : Requests) (i : Nat) (x : Array Nat) : Prop :=
  Arr.at! x 9 = q.s i ∧ Arr.at! x 10 = q.o i

/-- Other attributes may change. -/
theorem Brings.put {q : Requests} {i : Nat} {x : Array Nat} (h : Brings q i x) {slot v : Nat}
    (h9 : slot ≠ 9) (h10 : slot ≠ 10) : Brings q i (Arr.put x slot v) := by
  unfold Brings at *
  rw [Arr.at_put, Arr.at_put, if_neg h9, if_neg h10]
  exact h

/-- The hold of request `i`, taken. -/
def holdOf (q : Requests) (i : Nat) : HoldRec := ⟨[⟨0, q.peak i, 0⟩], false, none, wait⟩

/-! ## Sessions in a machine -/

/-- A session after a change of it, or of another session. -/
theorem at_mod (m : Machine) (i j : Nat) (f : Sess → Sess) :
    (m.modSess i f).at_ j = if i = j ∧ i < m.sess.size then f (m.at_ j) else m.at_ j := by
  simp [Machine.at_, Machine.modSess, Arr.at_mod]

/-- The session after its change. -/
theorem at_self {m : Machine} {i : Nat} (hi : i < m.sess.size) (f : Sess → Sess) :
    (m.modSess i f).at_ i = f (m.at_ i) := by
  rw [at_mod, if_pos ⟨rfl, hi⟩]

/-- Every other session is as it was. -/
theorem at_other {m : Machine} {i j : Nat} (h : i ≠ j) (f : Sess → Sess) :
    (m.modSess i f).at_ j = m.at_ j := by
  rw [at_mod, if_neg (fun h' => h h'.1)]

/-- Changing an element of a list twice is changing it once. -/
theorem lst_mod_mod (f g : α → α) (l : List α) (i : Nat) :
    Lst.mod g (Lst.mod f l i) i = Lst.mod (fun x => g (f x)) l i := by
  induction l generalizing i with
  | nil => rfl
  | cons a l ih => cases i <;> simp [Lst.mod, ih]

/-- Changing a session twice is changing it once. -/
theorem arr_mod_mod (f g : α → α) (a : Array α) (i : Nat) :
    Arr.mod (Arr.mod a i f) i g = Arr.mod a i (fun x => g (f x)) := by
  simp [Arr.mod, lst_mod_mod]

/-- The machine's one pool. -/
theorem pool_of {m : Machine} {st : PoolSt} (h : m.pools = [st]) : m.pool 0 = st := by
  simp [Machine.pool, h, Lst.nth]

/-- What a change within session `i` leaves alone. -/
structure Changed (m m' : Machine) (i : Nat) : Prop where
  size : m'.sess.size = m.sess.size
  other : ∀ k, k ≠ i → m'.at_ k = m.at_ k
  clock : m'.clock = m.clock
  dues : m'.dues = m.dues

/-- Two changes within a session are one. -/
theorem Changed.trans {a b c : Machine} {i : Nat} (h : Changed a b i) (h' : Changed b c i) :
    Changed a c i where
  size := h'.size.trans h.size
  other k hk := (h'.other k hk).trans (h.other k hk)
  clock := h'.clock.trans h.clock
  dues := h'.dues.trans h.dues

/-- A change of a session, and of what is no session, is a change within it. -/
theorem Changed.of {m m' : Machine} {i : Nat} {f : Sess → Sess} (hs : m'.sess = Arr.mod m.sess i f)
    (hc : m'.clock = m.clock) (hd : m'.dues = m.dues) : Changed m m' i where
  size := by rw [hs]; simp
  other k hk := by
    have : m'.at_ k = (m.modSess i f).at_ k := by simp [Machine.at_, Machine.modSess, hs]
    rw [this, at_other (fun h => hk h.symm)]
  clock := hc
  dues := hd

/-- What the changed session is. -/
theorem at_of {m m' : Machine} {i : Nat} {f : Sess → Sess} (hs : m'.sess = Arr.mod m.sess i f)
    (hi : i < m.sess.size) : m'.at_ i = f (m.at_ i) := by
  have : m'.at_ i = (m.modSess i f).at_ i := by simp [Machine.at_, Machine.modSess, hs]
  rw [this, at_self hi]

/-- A request waits for admission. -/
structure Queued (q : Requests) (m : Machine) (i : Nat) : Prop where
  lt : i < m.sess.size
  status : (m.at_ i).status = .queued
  stack : (m.at_ i).stack = []
  prog : (m.at_ i).prog = wait
  front : (m.at_ i).front = false
  brings : Brings q i (m.at_ i).attrs

/-- A request holds its peak and is about to run, or has run. -/
structure Holding (q : Requests) (m : Machine) (i : Nat) : Prop where
  lt : i < m.sess.size
  status : (m.at_ i).status = .ready
  stack : (m.at_ i).stack = [.hold (holdOf q i) rest]
  prog : (m.at_ i).prog = body ∨ (m.at_ i).prog = .Done
  brings : Brings q i (m.at_ i).attrs

/-- A request is at the engine. -/
structure Running (q : Requests) (m : Machine) (i : Nat) : Prop where
  lt : i < m.sess.size
  status : (m.at_ i).status = .engine
  stack : (m.at_ i).stack = [.hold (holdOf q i) rest]
  prog : (m.at_ i).prog = .Done
  brings : Brings q i (m.at_ i).attrs

/-! ## What one command does -/

variable {D : Deployment} {m : Machine} {i : Nat}

/-- A turn begins. -/
theorem exec_turn {k : Block} (fuel : Nat) (hs : (m.at_ i).status = .ready)
    (hp : (m.at_ i).prog = .Turn k) :
    exec D (fuel + 1) m i =
      exec D fuel (m.modSess i fun s => nextTurn D { s with prog := k }) i := by
  conv => lhs; unfold exec
  simp only [hs, hp]

/-- Something is observed. -/
theorem exec_observe {name : Nat} {e : Expr} {k : Block} (fuel : Nat)
    (hs : (m.at_ i).status = .ready) (hp : (m.at_ i).prog = .Observe name e k) :
    exec D (fuel + 1) m i =
      exec D fuel { m with
        sess := Arr.mod m.sess i fun s => { s with prog := k }
        obs := ⟨name, (m.at_ i).serial, m.now, e.eval (m.sessEnv D i 0)⟩ :: m.obs } i := by
  conv => lhs; unfold exec
  simp only [hs, hp, Machine.modSess]

/-- A hold is reached. -/
theorem exec_hold {ps : List HoldPool} {r : Option Expr} {b : Block} {c : Option Expr} {k : Block}
    (fuel : Nat) (hs : (m.at_ i).status = .ready) (hp : (m.at_ i).prog = .Hold ps r b c k) :
    exec D (fuel + 1) m i = enqueue D m i false := by
  conv => lhs; unfold exec
  simp only [hs, hp]

/-- The body of a hold is over. -/
theorem exec_done {r : HoldRec} {k : Block} {st : List Frame} (fuel : Nat)
    (hs : (m.at_ i).status = .ready) (hp : (m.at_ i).prog = .Done)
    (hst : (m.at_ i).stack = .hold r k :: st) :
    exec D (fuel + 1) m i = exec D fuel (finishHold D m i r k st) i := by
  conv => lhs; unfold exec
  simp only [hs, hp, hst]

/-- A session that holds nothing ends. -/
theorem exec_end (fuel : Nat) (hs : (m.at_ i).status = .ready) (hp : (m.at_ i).prog = .End)
    (hst : (m.at_ i).stack = []) :
    exec D (fuel + 1) m i =
      m.modSess i fun s => { s with prog := .Done, stack := [], status := .ended } := by
  conv => lhs; unfold exec
  simp only [hs, hp, endSession, hst, releaseStack]

variable {q : Requests}

/-- The body of the hold begins its run: the request is at the engine, with its whole output left. -/
theorem exec_body (fuel : Nat) (h : Holding q m i) (hp : (m.at_ i).prog = body) (ho : 1 ≤ q.o i) :
    ∃ a, exec deployment (fuel + 1) m i =
      { m with
        sess := Arr.mod m.sess i fun s => { s with prog := .Done, status := .engine }
        jobs := insertJob ⟨i, a, .Decode, q.o i, none⟩ m.jobs } := by
  have hw : Expr.eval (m.sessEnv deployment i 0) (.Attr 10) = q.o i := h.brings.2
  have h0 : ¬ q.o i = 0 := by omega
  refine ⟨((m.modSess i fun s => { s with prog := .Done }).at_ i).adm, ?_⟩
  have hst : deployment.stage (Ref.eval (m.sessEnv deployment i 0) { base := 0 }) = .Step := rfl
  conv => lhs; unfold exec
  simp only [h.status, hp, body, hw, h0, if_false]
  simp only [startRun, hst, evalRef, Machine.modSess, arr_mod_mod]

/-- What a volume is read as. -/
theorem eval_vol {env : Env} (h : Brings q i env.attrs) : volE.eval env = q.vol i := by
  unfold volE
  simp only [Expr.eval, BinaryOp.apply, Fun.apply, h.1, h.2]
  rfl

/-- What a key is read as. -/
theorem key_vol {env : Env} (h : Brings q i env.attrs) : volE.key env = (q.vol i : Nat) := by
  unfold volE
  simp only [Expr.key, BinaryOp.applyKey, Fun.applyKey, h.1, h.2, Requests.vol, volume]
  push_cast
  rfl

/-- What a peak is read as. -/
theorem eval_peak {env : Env} (h : Brings q i env.attrs) :
    Expr.eval env (.Binary .Add (.Attr 9) (.Attr 10)) = q.peak i := by
  simp only [Expr.eval, BinaryOp.apply, h.1, h.2]
  rfl

/-- The pool. -/
theorem pool_zero : (deployment.pool 0).cap = 20000 ∧ (deployment.pool 0).block = 0 ∧
    (deployment.pool 0).queue = [volE] ∧ (deployment.pool 0).admitVia = false := ⟨rfl, rfl, rfl, rfl⟩

/-- A request whose peak is at most 2 500 is not rejected. -/
theorem neverFits_not {env : Env} (h : Brings q i env.attrs) (hpk : q.peak i ≤ 2500) :
    neverFits deployment env takes = false := by
  have h1 : ¬ (20000 < q.peak i) := by omega
  simp only [takes, neverFits, overAsked, overCap, Ref.eval, Expr.eval, BinaryOp.apply, Expr.static,
    Bool.and_self, if_true, pool_zero.1, pool_zero.2.1, roundUp, h.1, h.2, Nat.add_zero]
  simp only [Requests.peak] at h1
  simp [h1]

/-- A request joins the queue, its output and its volume noted. -/
theorem exec_arrive {st : PoolSt} (fuel : Nat)
    (hi : i < m.sess.size) (hs : (m.at_ i).status = .ready) (hp : (m.at_ i).prog = prog)
    (ht : (m.at_ i).turns = none) (hst : (m.at_ i).stack = []) (hq : Brings q i (m.at_ i).attrs)
    (hpk : q.peak i ≤ 2500) (hpool : m.pools = [st]) {m' : Machine}
    (hm' : exec deployment (fuel + 4) m i = m') :
    Changed m m' i ∧ m'.pools = [{ st with queue := st.queue ++ [i] }] ∧ m'.ready = m.ready ∧
      m'.jobs = m.jobs ∧ Queued q m' i ∧
      ∃ a b, m'.obs = ⟨1, a, m.now, q.vol i⟩ :: ⟨0, b, m.now, q.o i⟩ :: m.obs := by
  rw [exec_turn (fuel + 3) hs hp] at hm'
  -- the turn
  generalize hm1 : (m.modSess i fun s => nextTurn deployment
    { s with prog := .Observe 0 (.Attr 10) (.Observe 1 volE wait) }) = m1 at hm'
  have c1 : Changed m m1 i := by rw [← hm1]; exact .of rfl rfl rfl
  have a1 : m1.at_ i = { m.at_ i with
      prog := .Observe 0 (.Attr 10) (.Observe 1 volE wait)
      attrs := Arr.put (m.at_ i).attrs 2 (Arr.at! (m.at_ i).attrs 2 + 1) } := by
    rw [← hm1, at_self hi]
    simp only [nextTurn, ht]
    rfl
  have f1 : m1.pools = m.pools ∧ m1.ready = m.ready ∧ m1.jobs = m.jobs ∧ m1.obs = m.obs := by
    rw [← hm1]; exact ⟨rfl, rfl, rfl, rfl⟩
  have q1 : Brings q i (m1.at_ i).attrs := by rw [a1]; exact hq.put (by decide) (by decide)
  -- the output
  rw [exec_observe (fuel + 2) (by rw [a1]; exact hs) (by rw [a1])] at hm'
  generalize hm2 : ({ m1 with
    sess := Arr.mod m1.sess i fun s => { s with prog := .Observe 1 volE wait }
    obs := _ } : Machine) = m2 at hm'
  have hi1 : i < m1.sess.size := by rw [c1.size]; exact hi
  have c2 : Changed m1 m2 i := by rw [← hm2]; exact .of rfl rfl rfl
  have a2 : m2.at_ i = { m1.at_ i with prog := .Observe 1 volE wait } := by
    rw [← hm2]
    exact at_of (m := m1) (f := fun s => { s with prog := .Observe 1 volE wait }) rfl hi1
  have f2 : m2.pools = m1.pools ∧ m2.ready = m1.ready ∧ m2.jobs = m1.jobs ∧
      m2.obs = ⟨0, (m1.at_ i).serial, m.now, q.o i⟩ :: m1.obs := by
    rw [← hm2]
    refine ⟨rfl, rfl, rfl, ?_⟩
    have e1 : Expr.eval (m1.sessEnv deployment i 0) (.Attr 10) = q.o i := q1.2
    simp only [e1, Machine.now, c1.clock]
  have q2 : Brings q i (m2.at_ i).attrs := by rw [a2]; exact q1
  -- the volume
  rw [exec_observe (fuel + 1) (by rw [a2, a1]; exact hs) (by rw [a2])] at hm'
  generalize hm3 : ({ m2 with
    sess := Arr.mod m2.sess i fun s => { s with prog := wait }
    obs := _ } : Machine) = m3 at hm'
  have hi2 : i < m2.sess.size := by rw [c2.size]; exact hi1
  have c3 : Changed m2 m3 i := by rw [← hm3]; exact .of rfl rfl rfl
  have a3 : m3.at_ i = { m2.at_ i with prog := wait } := by
    rw [← hm3]; exact at_of (m := m2) (f := fun s => { s with prog := wait }) rfl hi2
  have f3 : m3.pools = m2.pools ∧ m3.ready = m2.ready ∧ m3.jobs = m2.jobs ∧
      m3.obs = ⟨1, (m2.at_ i).serial, m.now, q.vol i⟩ :: m2.obs := by
    rw [← hm3]
    refine ⟨rfl, rfl, rfl, ?_⟩
    have e1 : volE.eval (m2.sessEnv deployment i 0) = q.vol i := eval_vol q2
    simp only [e1, Machine.now, c2.clock, c1.clock]
  have q3 : Brings q i (m3.at_ i).attrs := by rw [a3]; exact q2
  have hi3 : i < m3.sess.size := by rw [c3.size]; exact hi2
  -- the queue
  rw [exec_hold fuel (by rw [a3, a2, a1]; exact hs) (by rw [a3]; rfl)] at hm'
  have hp3 : m3.pools = [st] := by rw [f3.1, f2.1, f1.1, hpool]
  have hwait : (m3.at_ i).prog = .Hold takes none body none rest := by rw [a3]; rfl
  have hfit : neverFits deployment (m3.sessEnv deployment i 0) takes = false := neverFits_not q3 hpk
  unfold enqueue at hm'
  simp only [hwait, hfit, Bool.false_eq_true, if_false] at hm'
  have hfp : firstPool (m3.sessEnv deployment i 0) takes = 0 := rfl
  rw [hfp] at hm'
  have hpools : m'.pools = [{ st with queue := st.queue ++ [i] }] := by
    rw [← hm']
    show Lst.mod _ m3.pools 0 = _
    rw [hp3]
    rfl
  have c4 : Changed m3 m' i := by rw [← hm']; exact .of rfl rfl rfl
  have a4 : m'.at_ i = { m3.at_ i with status := .queued, joined := m3.now, front := false } := by
    rw [← hm']; exact at_self (m := m3.modPool 0 _) hi3 _
  have f4 : m'.ready = m3.ready ∧ m'.jobs = m3.jobs ∧ m'.obs = m3.obs := by
    rw [← hm']; exact ⟨rfl, rfl, rfl⟩
  refine ⟨((c1.trans c2).trans c3).trans c4, hpools, ?_, ?_, ?_, ?_⟩
  · rw [f4.1, f3.2.1, f2.2.1, f1.2.1]
  · rw [f4.2.1, f3.2.2.1, f2.2.2.1, f1.2.2.1]
  · refine ⟨by rw [c4.size]; exact hi3, by rw [a4], ?_, ?_, by rw [a4], ?_⟩
    · rw [a4, a3, a2, a1]; exact hst
    · rw [a4]; exact hwait
    · rw [a4]; exact q3
  · exact ⟨_, _, by rw [f4.2.2, f3.2.2.2, f2.2.2.2, f1.2.2.2]⟩

/-- What the end of a hold leaves before others are admitted. -/
def released (q : Requests) (st : PoolSt) (m : Machine) (i : Nat) : Machine :=
  { m with
    sess := Arr.mod m.sess i fun s =>
      { s with snap := s.attrs, attrs := Arr.put s.attrs 8 0, prog := rest, stack := [] }
    pools := [{ st with used := st.used - q.peak i, holders := removeOne i st.holders }] }

/-- The end of a hold: the peak is given back, and others are admitted. -/
theorem finishHold_eq {st : PoolSt} (hpool : m.pools = [st]) :
    ∃ f, finishHold deployment m i (holdOf q i) rest [] =
      tally (admitAll deployment (released q st m i)) f := by
  refine ⟨fun c => c.ended deployment.memory i (holdOf q i).allocs, ?_⟩
  unfold finishHold
  congr 1
  simp only [releaseHold, holdOf, cacheValue, giveAll, giveOne, keepUnits, if_true, Machine.modSess,
    Machine.modPool, released, hpool, Lst.mod, arr_mod_mod]
  rfl

/-- All pools that no engine serves are the one pool. -/
theorem admitAll_eq : admitAll deployment m =
    admitHeads deployment 0 ((m.pool 0).queue.length + 1) m := rfl

/-- Whether a request fits. -/
theorem fits_iff {st : PoolSt} (hpool : m.pools = [st]) (h : Queued q m i) :
    fits deployment m i 0 = true ↔ st.used + q.peak i ≤ 20000 := by
  have hw : (m.at_ i).prog = .Hold takes none body none rest := h.prog
  have e1 : Expr.eval (m.sessEnv deployment i 0) (.Binary .Add (.Attr 9) (.Attr 10)) = q.peak i :=
    eval_peak h.brings
  have e2 : Ref.eval (m.sessEnv deployment i 0) { base := 0 } = 0 := rfl
  unfold fits
  simp only [hw, takes, needs, e1, e2, evalOr, allFit, pool_of hpool, pool_zero.1, pool_zero.2.1, roundUp,
    if_true]
  by_cases h0 : q.peak i ≤ 0
  · have : q.peak i = 0 := by omega
    simp [this]
  · simp [h0]

/-- An admission. -/
theorem admit_eq {st : PoolSt} (hpool : m.pools = [st]) (he : st.entries = []) (h : Queued q m i)
    (hfit : st.used + q.peak i ≤ 20000) :
    ∃ f a, admit deployment m 0 i 0 =
      tally { m with
        sess := Arr.mod m.sess i fun s =>
          { s with
            attrs := Arr.put s.attrs 0 0, prog := body, stack := .hold (holdOf q i) rest :: s.stack
            status := .ready, adm := m.nextAdm, front := false }
        pools := [{ st with
          queue := removeOne i st.queue, used := st.used + q.peak i, holders := st.holders ++ [i] }]
        ready := m.ready ++ [i]
        nextAdm := a } f := by
  have hw : (m.at_ i).prog = .Hold takes none body none rest := h.prog
  have e1 : Expr.eval (m.sessEnv deployment i 0) (.Binary .Add (.Attr 9) (.Attr 10)) = q.peak i :=
    eval_peak h.brings
  have e2 : Ref.eval (m.sessEnv deployment i 0) { base := 0 } = 0 := rfl
  have hallocs : holdAllocs deployment m i 0 takes none none = [⟨0, q.peak i, 0⟩] := by
    simp only [holdAllocs, takes, needs, newAllocs, e1, e2, evalOr, consumed, pool_zero.2.1, roundUp,
      if_true, Option.isSome_none, Bool.false_eq_true, if_false]
  refine ⟨fun c => c.admitted deployment.memory i [⟨0, q.peak i, 0⟩], m.nextAdm + 1, ?_⟩
  unfold admit
  simp only [hw, hallocs]
  refine congrArg (fun x => tally x _) ?_
  have hover : ∀ x : Machine, x.pools = [{ st with queue := removeOne i st.queue }] →
      makeRoom deployment x 0 (q.peak i) = x := by
    intro x hx
    have : st.used + sumSizes ([] : List CacheEntry) + q.peak i - 20000 = 0 := by
      simp only [sumSizes]; omega
    unfold makeRoom
    simp only [pool_of hx, he, pool_zero.1, this, if_true]
  simp only [takeAll, takeOne, leaveQueue, Option.isSome_none, Bool.false_eq_true, if_false]
  rw [hover _ (by simp [Machine.modPool, hpool, Lst.mod])]
  simp only [enterBody, Machine.modSess, Machine.modPool, hpool, Lst.mod, maxPos, holdOf, wait,
    Nat.le_refl, if_true]
  rfl

end Serq.Papers.KongSvf
