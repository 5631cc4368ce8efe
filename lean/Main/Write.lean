import Main.Read
/-!
# Writing a step trace

One JSON object per run: the iterations (start, tokens of each served session in serving order, free units
of each pool; where there are any, admitted sessions with what each had cached and preempted sessions; the
counters of claims where they differ from those of the iteration before), the observations in the order
made, and what the run ended with.
-/

open Lean (Json)

namespace Main

open Serq

def nat (n : Nat) : Json := .num n

def nats (l : List Nat) : Json := .arr (l.map nat).toArray

/-- What claims read as counted: preemptions, rejections, stuck sessions and recomputed units, of the
engine and then of each pool. Only the engine's memory is ever preempted from. -/
def counted (D : Deployment) (preempts : Nat) (c : Counters) : Json :=
  let engine := nats [preempts, rejectedVia c.rejections, c.stuckOnes.length, c.recomputed]
  let pools := (List.range D.pools.length).map fun p =>
    if D.memory = some p then
      nats [preempts, rejectedAt p c.rejections, c.stuckOnes.length, c.recomputed]
    else nats [0, rejectedAt p c.rejections, 0, 0]
  .arr (engine :: pools).toArray

/-- Whether nothing has been counted since the iteration before. -/
def uncounted : Option IterRec → IterRec → Bool
  | some before, r => before.preempts == r.preempts && before.counters == r.counters
  | none, _ => false

def iteration (D : Deployment) (before : Option IterRec) (r : IterRec) : Json :=
  let counts := if uncounted before r then [] else [("counted", counted D r.preempts r.counters)]
  let admitted := if r.admitted.isEmpty then [] else
    [("admitted", .arr (r.admitted.map fun (i, c) => nats [i, c]).toArray)]
  let preempted := if r.preempted.isEmpty then [] else [("preempted", nats r.preempted)]
  let free := (D.pools.zip r.pools).map fun (P, s) => nat (P.cap - s.used)
  Json.mkObj <| counts ++ admitted ++ preempted ++ [
    ("start", nat r.start),
    ("batch", .arr (r.batch.map fun (i, t) => nats [i, t]).toArray),
    ("free", .arr free.toArray)]

/-- The iterations in order. -/
def iterations (D : Deployment) : Option IterRec → List IterRec → List Json
  | _, [] => []
  | before, r :: rest => iteration D before r :: iterations D (some r) rest

/-- The step trace of a run. -/
def traceJson (input : Input) (m : Machine) (iters : List IterRec) : Json :=
  let obs := m.obs.reverse.map fun o =>
    Json.arr #[.str (input.observes[o.name]?.getD "?"), nat o.serial, nat o.time, nat o.value]
  let pools := m.pools.map fun st => nats [st.used, sumSizes st.entries]
  Json.mkObj [
    ("iterations", .arr (iterations input.deployment none iters.reverse).toArray),
    ("observations", .arr obs.toArray),
    ("preemptions", nat (preemptions m)),
    ("rejected", nat m.rejected),
    ("ended", nat (m.sess.toList.countP fun s => s.status == .ended)),
    ("pools", .arr pools.toArray),
    ("counted", counted input.deployment (preemptions m) m.counters),
    ("outOfFuel", .bool m.outOfFuel)]

end Main
