import Serq.Exec.Admit
/-!
# Commands: what a ready session does at an instant, and how an instant settles
-/

namespace Serq

/-- Session `i` is ready, behind those that became ready before. -/
@[inline] def wake (m : Machine) (i : Nat) : Machine :=
  { (m.modSess i fun s => { s with status := .ready }) with ready := m.ready ++ [i] }

/-- A job behind all jobs of sessions admitted no later. -/
def insertJob (j : Job) : List Job → List Job
  | [] => [j]
  | x :: xs => if x.adm ≤ j.adm then x :: insertJob j xs else j :: x :: xs

/-- A service behind all that end no later. -/
def insertDue (d : Due) : List Due → List Due
  | [] => [d]
  | x :: xs => if x.time ≤ d.time then x :: insertDue d xs else d :: x :: xs

/-- Session `i` is in service at stage `s` for `w` from now on. -/
@[inline] def serveFor (m : Machine) (i s w : Nat) : Machine :=
  { (m.modSess i fun x => { x with status := .serving m.nextEvent }) with
    dues := insertDue ⟨m.now + w, m.nextEvent, i, s⟩ m.dues
    nextEvent := m.nextEvent + 1 }

/-- Session `i` starts a run of `w > 0` units of work at stage `s`. -/
def startRun (D : Deployment) (m : Machine) (i s : Nat) (mode : Mode) (w : Nat)
    (growing : Option Nat) : Machine :=
  match D.stage s with
  | .Delay => serveFor m i s w
  | .Fifo c =>
    if (m.stage s).busy < c then
      serveFor (m.modStage s fun st => { st with busy := st.busy + 1 }) i s w
    else
      (m.modStage s fun st => { st with waiting := st.waiting ++ [(i, w)] }).modSess i fun x =>
        { x with status := .waiting }
  | .Step =>
    let m' := m.modSess i fun x => { x with status := .engine }
    { m' with jobs := insertJob ⟨i, (m.at_ i).adm, mode, w, growing⟩ m.jobs }

/-- The attributes after some assignments, in order. -/
def assign : List (Nat × Nat) → Array Nat → Array Nat
  | [], a => a
  | (s, v) :: rest, a => assign rest (Arr.put a s v)

/-- The next turn: its number, its data, and whether another follows. -/
def nextTurn (D : Deployment) (s : Sess) : Sess :=
  let a := Arr.put s.attrs D.slotTurn (Arr.at! s.attrs D.slotTurn + 1)
  match s.turns with
  | none => { s with attrs := a }
  | some [] => { s with attrs := Arr.put a D.slotMore 0 }
  | some (t :: ts) =>
    { s with
      attrs := Arr.put (assign t a) D.slotMore (if ts.isEmpty then 0 else 1)
      turns := some ts }

/-- The candidate of `j, j + 1, …` (`n` of them) with the least keys, the least among equals. -/
def chooseFrom (env : Env) (slot : Nat) (keys : List Expr) :
    Nat → Nat → Nat → List Int → Nat
  | 0, _, best, _ => best
  | n + 1, j, best, kb =>
    let kj := keysOf { env with attrs := Arr.put env.attrs slot j } keys
    if keysLt kj kb then chooseFrom env slot keys n (j + 1) j kj
    else chooseFrom env slot keys n (j + 1) best kb

/-- `choose slot in n by (keys)`. -/
def choose (env : Env) (slot n : Nat) (keys : List Expr) : Nat :=
  chooseFrom env slot keys (n - 1) 1 0
    (keysOf { env with attrs := Arr.put env.attrs slot 0 } keys)

/-- A hold without its allocation on pool `p`. -/
def withoutPool (p : Nat) : List Alloc → List Alloc
  | [] => []
  | a :: as => if a.pool = p then as else a :: withoutPool p as

/-- A stack whose innermost hold on `p` holds it no longer. -/
def dropInnermost (p : Nat) : List Frame → List Frame
  | [] => []
  | .seq k :: st => .seq k :: dropInnermost p st
  | .hold r k :: st => match findAlloc p r.allocs with
    | none => .hold r k :: dropInnermost p st
    | some _ => .hold { r with allocs := withoutPool p r.allocs } k :: st

/-- The innermost hold on `p`. -/
def innermostHold (p : Nat) : List Frame → Option HoldRec
  | [] => none
  | .seq _ :: st => innermostHold p st
  | .hold r _ :: st => match findAlloc p r.allocs with
    | none => innermostHold p st
    | some _ => some r

/-- `release p`: the innermost hold on `p` gives its allocation back, what was marked of its preemptions is
forgotten, and admissions are tried at once; nothing when there is none. -/
def releasePool (D : Deployment) (m : Machine) (i p : Nat) : Machine :=
  match innermostHold p (m.at_ i).stack with
  | none => m
  | some r => match findAlloc p r.allocs with
    | none => m
    | some a =>
      tally (admitAll D ((giveOne D i r.grown (cacheValue D m i r.cache)
        (m.modSess i fun s => { s with snap := s.attrs }) a).modSess i fun s =>
          { s with stack := dropInnermost p s.stack })) (·.ended D.memory i [a])

/-- The end of a hold's body: release, `computed` 0, and admissions are tried at once. -/
def finishHold (D : Deployment) (m : Machine) (i : Nat) (r : HoldRec) (k : Block)
    (st : List Frame) : Machine :=
  let m := releaseHold D i r r.grown m
  tally (admitAll D (m.modSess i fun s =>
    { s with attrs := Arr.put s.attrs D.slotComputed 0, prog := k, stack := st }))
    (·.ended D.memory i r.allocs)

/-- The pool or stage that an optional reference names. -/
@[inline] def evalRef (env : Env) : Option Ref → Option Nat
  | none => none
  | some r => some (r.eval env)

/-- Runs the commands of session `i` while it is ready. -/
def exec (D : Deployment) : Nat → Machine → Nat → Machine
  | 0, m, _ => { m with outOfFuel := true }
  | fuel + 1, m, i =>
    let s := m.at_ i
    match s.status with
    | .ready => match s.prog with
      | .Done => match s.stack with
        | [] => m.modSess i fun s => { s with status := .ended }
        | .seq k :: st => exec D fuel (m.modSess i fun s => { s with prog := k, stack := st }) i
        | .hold r k :: st => exec D fuel (finishHold D m i r k st) i
      | .End => endSession D m i
      | .Turn k => exec D fuel (m.modSess i fun s => nextTurn D { s with prog := k }) i
      | .Set slot e k =>
        let v := e.eval (m.sessEnv D i 0)
        exec D fuel (m.modSess i fun s => { s with attrs := Arr.put s.attrs slot v, prog := k }) i
      | .Observe name e k =>
        let v := e.eval (m.sessEnv D i 0)
        let m' := m.modSess i fun s => { s with prog := k }
        exec D fuel { m' with obs := ⟨name, s.serial, m.now, v⟩ :: m.obs } i
      | .Hold .. => enqueue D m i false
      | .Drop r k =>
        let p := r.eval (m.sessEnv D i 0)
        exec D fuel ((m.modPool p fun st =>
          { st with entries := removeOwn i st.entries }).modSess i fun s => { s with prog := k }) i
      | .Release r k =>
        let p := r.eval (m.sessEnv D i 0)
        exec D fuel (releasePool D (m.modSess i fun s => { s with prog := k }) i p) i
      | .Run stage mode work growing k =>
        let env := m.sessEnv D i 0
        let w := work.eval env
        let m' := m.modSess i fun s => { s with prog := k }
        if w = 0 then { m' with ready := m'.ready ++ [i] }
        else startRun D m' i (stage.eval env) mode w (evalRef env growing)
      | .Branch g a b k =>
        let v := g.eval (m.sessEnv D i 0)
        exec D fuel (m.modSess i fun s =>
          { s with prog := if v = 0 then b else a, stack := .seq k :: s.stack }) i
      | .Loop body =>
        exec D fuel (m.modSess i fun s =>
          { s with prog := body, stack := .seq (.Loop body) :: s.stack }) i
      | .While g body k =>
        if g.eval (m.sessEnv D i 0) = 0 then
          exec D fuel (m.modSess i fun s => { s with prog := k }) i
        else
          exec D fuel (m.modSess i fun s =>
            { s with prog := body, stack := .seq (.While g body k) :: s.stack }) i
      | .Choose slot count keys k =>
        let env := m.sessEnv D i 0
        let v := choose env slot (count.eval env) keys
        exec D fuel (m.modSess i fun s => { s with attrs := Arr.put s.attrs slot v, prog := k }) i
    | _ => m

/-- The commands that one session may run without blocking. -/
def execFuel : Nat := 100000

/-- Runs the ready sessions, in the order they became ready, until none is. -/
def drain (D : Deployment) : Nat → Machine → Machine
  | 0, m => { m with outOfFuel := true }
  | fuel + 1, m => match m.ready with
    | [] => m
    | i :: is => drain D fuel (exec D execFuel { m with ready := is } i)

/-- The times that sessions may be run, and the rounds of admission, within one instant. -/
def instantFuel : Nat := 100000

/-- Runs ready sessions and admits waiting ones until nothing changes. -/
def settle (D : Deployment) : Nat → Machine → Machine
  | 0, m => { m with outOfFuel := true }
  | fuel + 1, m =>
    let m := admitAll D (drain D instantFuel m)
    match m.ready with
    | [] => m
    | _ => settle D fuel m

end Serq
