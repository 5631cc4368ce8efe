import Serq.Exec.Iteration
/-!
# Events: the clock, and whole runs
-/

namespace Serq

/-- What happens next. -/
inductive Ev
  | iterEnd | arrival | due
  deriving DecidableEq, Repr, Inhabited

/-- Of two pending events the earlier, by time and then by event number. -/
def earlier : Option (Nat × Nat × Ev) → Option (Nat × Nat × Ev) → Option (Nat × Nat × Ev)
  | none, b => b
  | a, none => a
  | some (t, q, e), some (t', q', e') =>
    if t < t' then some (t, q, e)
    else if t = t' ∧ q < q' then some (t, q, e)
    else some (t', q', e')

/-- The pending end of the running iteration. -/
@[inline] def pendingIter (m : Machine) : Option (Nat × Nat × Ev) :=
  match m.clock.iterEnd with
  | none => none
  | some (t, q) => some (t, q, .iterEnd)

/-- The pending arrival. -/
@[inline] def pendingArrival (m : Machine) : Option (Nat × Nat × Ev) :=
  match m.clock.arrival with
  | none => none
  | some (t, q) => some (t, q, .arrival)

/-- The earliest pending end of a service. -/
@[inline] def pendingDue (m : Machine) : Option (Nat × Nat × Ev) :=
  match m.dues with
  | [] => none
  | d :: _ => some (d.time, d.seq, .due)

/-- The next event: its time, its number and what it is. -/
@[inline] def nextEvent (m : Machine) : Option (Nat × Nat × Ev) :=
  earlier (pendingIter m) (earlier (pendingArrival m) (pendingDue m))

/-- The next arrival is scheduled, after the next gap. -/
@[inline] def scheduleArrival (m : Machine) : Machine :=
  match m.clock.gaps with
  | [] => { m with clock := { m.clock with arrival := none } }
  | g :: gs =>
    { m with
      clock := { m.clock with arrival := some (m.now + g, m.nextEvent), gaps := gs }
      nextEvent := m.nextEvent + 1 }

/-- A session arrives; the next arrival is scheduled before it runs. -/
def arrive (m : Machine) : Machine :=
  let i := m.clock.arrived
  let m := scheduleArrival m
  wake { m with clock := { m.clock with arrived := i + 1 } } i

/-- A server of fifo stage `s` is free: the first that waits starts. -/
def nextService (m : Machine) (s : Nat) : Machine :=
  match (m.stage s).waiting with
  | [] => m.modStage s fun st => { st with busy := st.busy - 1 }
  | (i, w) :: rest => serveFor (m.modStage s fun st => { st with waiting := rest }) i s w

/-- The server that a service has held, if it was one of a fifo stage, is free. -/
@[inline] def freeServer (D : Deployment) (m : Machine) (s : Nat) : Machine :=
  match D.stage s with
  | .Fifo _ => nextService m s
  | _ => m

/-- A service ends: its session is ready, if it is still the one in service. -/
@[inline] def endService (D : Deployment) (m : Machine) (d : Due) : Machine :=
  let m := freeServer D m d.stage
  if (m.at_ d.owner).status = .serving d.seq then wake m d.owner else m

/-- The event `e` happens at time `t`. -/
def handle (D : Deployment) (t : Nat) (e : Ev) (m : Machine) : Machine :=
  let m := { m with clock := { m.clock with now := t } }
  match e with
  | .iterEnd => endIteration m
  | .arrival => arrive m
  | .due => match m.dues with
    | [] => m
    | d :: ds => endService D { m with dues := ds } d

/-- Whether an event is pending now, so that no iteration starts before it. -/
def pendingNow (m : Machine) : Bool :=
  match nextEvent m with
  | none => false
  | some (t, _, _) => decide (t ≤ m.now)

/-- After an event everything settles, and an idle engine starts an iteration. -/
def afterEvent (D : Deployment) (m : Machine) : Machine :=
  let m := settle D instantFuel m
  match m.clock.iterEnd with
  | some _ => m
  | none => if pendingNow m then m else startIteration D m

/-- One event. A machine without events stays as it is. -/
def step (D : Deployment) (m : Machine) : Machine :=
  match nextEvent m with
  | none => m
  | some (t, _, e) => afterEvent D (handle D t e m)

/-- A session before its first command. -/
def newSess (D : Deployment) (prog : Block) (i : Nat) (init : List (Nat × Nat))
    (turns : Option (List (List (Nat × Nat)))) (status : Status) : Sess :=
  ⟨i, assign init (Arr.put #[] D.slotSerial i), turns, prog, [], status, neverAdmitted, 0,
    false, #[]⟩

/-- The sessions of a workload, from number `i` on. -/
def newSessions (D : Deployment) (prog : Block) (status : Status) :
    Nat → List (List (Nat × Nat)) → List (Option (List (List (Nat × Nat)))) → List Sess
  | _, [], _ => []
  | i, a :: as, [] => newSess D prog i a none status :: newSessions D prog status (i + 1) as []
  | i, a :: as, t :: ts =>
    newSess D prog i a t status :: newSessions D prog status (i + 1) as ts

/-- `n` numbers from `i` on. -/
def countFrom : Nat → Nat → List Nat
  | _, 0 => []
  | i, n + 1 => i :: countFrom (i + 1) n

/-- The machine before anything has happened. -/
def initial (D : Deployment) (w : Workload) (prog : Block) : Machine :=
  let n := w.init.length
  let m : Machine :=
    { (default : Machine) with
      pools := D.pools.map fun _ => {}
      stages := D.stages.map fun _ => {} }
  match w.gaps with
  | none =>
    { m with
      sess := ⟨newSessions D prog .ready 0 w.init w.turns⟩
      clock := { m.clock with arrived := n }
      ready := countFrom 0 n }
  | some gs =>
    scheduleArrival
      { m with
        sess := ⟨newSessions D prog .unborn 0 w.init w.turns⟩
        clock := { m.clock with gaps := gs.take n } }

/-- The machine after the instant 0. -/
def start (D : Deployment) (w : Workload) (prog : Block) : Machine :=
  afterEvent D (initial D w prog)

/-- Every event up to and including time `horizon`. -/
def runUntil (D : Deployment) (horizon : Nat) : Nat → Machine → Machine
  | 0, m => { m with outOfFuel := true }
  | fuel + 1, m => match nextEvent m with
    | none => m
    | some (t, _, e) =>
      if t ≤ horizon then runUntil D horizon fuel (afterEvent D (handle D t e m)) else m

/-- More events than can happen by `horizon`: at one instant every session arrives at most once, ends
at most one service, and one iteration ends. -/
def runFuel (horizon n : Nat) : Nat := (horizon + 1) * (2 * n + 2) + 1

/-- A whole run of program `prog` on workload `w` up to time `horizon`. -/
def run (D : Deployment) (w : Workload) (prog : Block) (horizon : Nat) : Machine :=
  runUntil D horizon (runFuel horizon w.init.length) (start D w prog)

/-! ## What a run has shown -/

/-- The pairs (serial, value) of the observations of one name, in the order made. -/
def obsPairs (name : Nat) : List Obs → List (Nat × Nat) → List (Nat × Nat)
  | [], acc => acc
  | o :: os, acc =>
    if o.name = name then obsPairs name os ((o.serial, o.value) :: acc) else obsPairs name os acc

/-- Pairs in the order of their first parts, equals in the order given. -/
def sortPairs : List (Nat × Nat) → List (Nat × Nat)
  | [] => []
  | x :: xs => insertPair' x (sortPairs xs)
where
  /-- A pair before all pairs of no smaller serial. -/
  insertPair' (x : Nat × Nat) : List (Nat × Nat) → List (Nat × Nat)
    | [] => [x]
    | y :: ys => if x.1 ≤ y.1 then x :: y :: ys else y :: insertPair' x ys

/-- What was observed under a name: (serial, value) in serial order, within a session in the order
made. -/
def observed (m : Machine) (name : Nat) : List (Nat × Nat) := sortPairs (obsPairs name m.obs [])

/-- The number of preemptions. -/
def preemptions (m : Machine) : Nat := m.plan.preempts

/-- Whether every session has ended. -/
def allEnded (m : Machine) : Bool := m.sess.toList.all fun s => s.status == .ended

/-- The records of the iterations of a run, latest first, and the machine at its end. -/
def trace (D : Deployment) (horizon : Nat) : Nat → Machine → List IterRec → Machine × List IterRec
  | 0, m, acc => ({ m with outOfFuel := true }, acc)
  | fuel + 1, m, acc => match nextEvent m with
    | none => (m, acc)
    | some (t, _, e) =>
      if t ≤ horizon then
        let n := m.clock.iters
        let m' := afterEvent D (handle D t e m)
        trace D horizon fuel m' (if n < m'.clock.iters then m'.clock.last :: acc else acc)
      else (m, acc)

/-- A whole run with the records of its iterations, latest first. -/
def runTrace (D : Deployment) (w : Workload) (prog : Block) (horizon : Nat) :
    Machine × List IterRec :=
  let m := start D w prog
  trace D horizon (runFuel horizon w.init.length) m (if 0 < m.clock.iters then [m.clock.last] else [])

/-! ## Well-formed programs -/

/-- Whether a block contains a run. -/
def Block.hasRun : Block → Bool
  | .Done => false
  | .End => false
  | .Turn k | .Set _ _ k | .Observe _ _ k | .Drop _ k | .Release _ k | .Choose _ _ _ k => k.hasRun
  | .Hold _ _ body _ k => body.hasRun || k.hasRun
  | .Run .. => true
  | .Branch _ a b k => a.hasRun || b.hasRun || k.hasRun
  | .Loop body => body.hasRun
  | .While _ body k => body.hasRun || k.hasRun

/-- Whether a run of the block grows a pool. -/
def Block.grows : Block → Bool
  | .Done | .End => false
  | .Turn k | .Set _ _ k | .Observe _ _ k | .Drop _ k | .Release _ k | .Choose _ _ _ k => k.grows
  | .Hold _ _ body _ k => body.grows || k.grows
  | .Run _ _ _ g k => g.isSome || k.grows
  | .Branch _ a b k => a.grows || b.grows || k.grows
  | .Loop body => body.grows
  | .While _ body k => body.grows || k.grows

/-- Whether the body of every `loop` and `while` contains a run. -/
def Block.wf : Block → Bool
  | .Done => true
  | .End => true
  | .Turn k | .Set _ _ k | .Observe _ _ k | .Drop _ k | .Release _ k | .Choose _ _ _ k => k.wf
  | .Run _ _ _ _ k => k.wf
  | .Hold _ _ body _ k => body.wf && k.wf
  | .Branch _ a b k => a.wf && b.wf && k.wf
  | .Loop body => body.hasRun && body.wf
  | .While _ body k => body.hasRun && body.wf && k.wf

end Serq
