import Serq.Exec.Pool
/-!
# Admission: queues, who is next, whether it fits, and what it takes
-/

namespace Serq

/-- The pool in whose queue a hold waits: its first. -/
@[inline] def firstPool (env : Env) : List HoldPool → Nat
  | [] => 0
  | h :: _ => h.pool.eval env

/-- Whether one demand of a hold exceeds the capacity whatever the deployment does: judged when it
reads only attributes and numbers. -/
def overCap (D : Deployment) (env : Env) (p : Nat) (e : Expr) : Bool :=
  if e.static then decide ((D.pool p).cap < roundUp (D.pool p).block (e.eval env)) else false

/-- Whether one pool entry of a hold asks for more than the pool can ever give. -/
def overAsked (D : Deployment) (env : Env) (h : HoldPool) : Bool :=
  if overCap D env (h.pool.eval env) h.units then true
  else match h.reserve with
    | none => false
    | some r => overCap D env (h.pool.eval env) r

/-- Whether a hold asks for more than a pool can ever give. -/
def neverFits (D : Deployment) (env : Env) : List HoldPool → Bool
  | [] => false
  | h :: hs => if overAsked D env h then true else neverFits D env hs

/-- The first pool that a hold asks for more than it can ever give. -/
def refusingPool (D : Deployment) (env : Env) : List HoldPool → Nat
  | [] => 0
  | h :: hs => if overAsked D env h then h.pool.eval env else refusingPool D env hs

/-- Session `i`, whose next statement is a hold, joins the queue of the hold's first pool: at the
back, or at the head after a preemption. A hold that can never fit is rejected: the session ends. -/
def enqueue (D : Deployment) (m : Machine) (i : Nat) (front : Bool) : Machine :=
  match (m.at_ i).prog with
  | .Hold pools _ _ _ _ =>
    let env := m.sessEnv D i 0
    if neverFits D env pools then
      tally (endSession D { m with rejected := m.rejected + 1 } i)
        (·.refused ⟨refusingPool D env pools, (D.pool (firstPool env pools)).admitVia⟩)
    else
      (m.modPool (firstPool env pools) fun st =>
        { st with queue := if front then i :: st.queue else st.queue ++ [i] }).modSess i fun s =>
          { s with status := .queued, joined := m.now, front := front }
  | _ => m

/-- The pools of a hold, resolved, with what it takes and what it must find free there. -/
def needs (env : Env) : List HoldPool → List (Nat × Nat × Nat)
  | [] => []
  | h :: hs =>
    let u := h.units.eval env
    let r := evalOr env 0 h.reserve
    (h.pool.eval env, u, if u ≤ r then r else u) :: needs env hs

/-- Whether every pool has room for what a hold must find. Cached prefixes never block. -/
def allFit (D : Deployment) (m : Machine) : List (Nat × Nat × Nat) → Bool
  | [] => true
  | (p, _, r) :: rest =>
    if (m.pool p).used + roundUp (D.pool p).block r ≤ (D.pool p).cap then allFit D m rest else false

/-- Whether session `i` can be admitted; `left` is the budget that its header reads. -/
@[inline] def fits (D : Deployment) (m : Machine) (i left : Nat) : Bool :=
  match (m.at_ i).prog with
  | .Hold pools _ _ _ _ => allFit D m (needs (m.sessEnv D i left) pools)
  | _ => false

/-- The consumed prefix of a pool: the session's own, at most `reuse`, in whole blocks. -/
@[inline] def consumed (D : Deployment) (m : Machine) (i : Nat) (caching : Bool) (reuse : Option Nat)
    (p : Nat) : Nat :=
  if caching then
    let own := ownSize i (m.pool p).entries
    match reuse with
    | none => own
    | some r => roundDown (D.pool p).block (if r ≤ own then r else own)
  else 0

/-- The allocations of a hold as it is admitted. -/
def newAllocs (D : Deployment) (m : Machine) (i : Nat) (caching : Bool) (reuse : Option Nat) :
    List (Nat × Nat × Nat) → List Alloc
  | [] => []
  | (p, u, _) :: rest =>
    ⟨p, roundUp (D.pool p).block u, consumed D m i caching reuse p⟩ ::
      newAllocs D m i caching reuse rest

/-- The largest consumed prefix. -/
def maxPos : List Alloc → Nat
  | [] => 0
  | a :: as => if a.pos ≤ maxPos as then maxPos as else a.pos

/-- The value of an optional expression. -/
@[inline] def evalOption (env : Env) : Option Expr → Option Nat
  | none => none
  | some e => some (e.eval env)

/-- The allocations of session `i`'s hold, read as it is admitted. -/
def holdAllocs (D : Deployment) (m : Machine) (i left : Nat) (pools : List HoldPool)
    (reuse cache : Option Expr) : List Alloc :=
  newAllocs D m i cache.isSome (evalOption (m.sessEnv D i left) reuse)
    (needs (m.sessEnv D i left) pools)

/-- Session `i` leaves the queue of pool `p`. -/
@[inline] def leaveQueue (m : Machine) (p i : Nat) : Machine :=
  m.modPool p fun st => { st with queue := removeOne i st.queue }

/-- Session `i`, which has taken the allocations of hold `r`, is ready to run its body. -/
@[inline] def enterBody (D : Deployment) (m : Machine) (i : Nat) (r : HoldRec) (body k : Block) : Machine :=
  let m' := m.modSess i fun s =>
    { s with
      attrs := Arr.put s.attrs D.slotCached (maxPos r.allocs)
      prog := body
      stack := .hold r k :: s.stack
      status := .ready
      adm := m.nextAdm
      front := false }
  { m' with nextAdm := m.nextAdm + 1, ready := m.ready ++ [i] }

/-- Session `i` leaves the queue of pool `p` and is admitted: it takes its units, its body is ready to
run. Its header is read while it still waits. -/
def admit (D : Deployment) (m : Machine) (p i left : Nat) : Machine :=
  match (m.at_ i).prog with
  | .Hold pools reuse body cache k =>
    let allocs := holdAllocs D m i left pools reuse cache
    tally (enterBody D (takeAll D i cache.isSome allocs (leaveQueue m p i)) i
      ⟨allocs, false, cache, .Hold pools reuse body cache k⟩ body k)
      (·.admitted D.memory i allocs)
  | _ => m

/-- The session with the least keys, the earliest in the list among equals. -/
def leastKeys (D : Deployment) (m : Machine) (left : Nat) (keys : List Expr) :
    Nat → List Int → List Nat → Nat
  | best, _, [] => best
  | best, kb, i :: is =>
    let ki := keysOf (m.sessEnv D i left) keys
    if keysLt ki kb then leastKeys D m left keys i ki is else leastKeys D m left keys best kb is

/-- Who is next in the queue of pool `p`: a session put back at the head, or else the one with the
least keys, which are read now; without keys the first. -/
@[inline] def selected (D : Deployment) (m : Machine) (p left : Nat) : Option Nat :=
  match (m.pool p).queue with
  | [] => none
  | i :: is => match (D.pool p).queue with
    | [] => some i
    | keys =>
      if (m.at_ i).front then some i
      else some (leastKeys D m left keys i (keysOf (m.sessEnv D i left) keys) is)

/-- Admits at pool `p` until nobody waits or the next one does not fit. -/
def admitHeads (D : Deployment) (p : Nat) : Nat → Machine → Machine
  | 0, m => { m with outOfFuel := true }
  | fuel + 1, m => match selected D m p 0 with
    | none => m
    | some i => if fits D m i 0 then admitHeads D p fuel (admit D m p i 0) else m

/-- Admits at every pool that no engine serves, from pool number `p` on. -/
def admitPools (D : Deployment) : List Pool → Nat → Machine → Machine
  | [], _, m => m
  | P :: Ps, p, m =>
    admitPools D Ps (p + 1)
      (if P.admitVia then m else admitHeads D p ((m.pool p).queue.length + 1) m)

/-- Admits at every pool that no engine serves, in declaration order. -/
def admitAll (D : Deployment) (m : Machine) : Machine := admitPools D D.pools 0 m

end Serq
