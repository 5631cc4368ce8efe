import Serq.Exec.Growth
/-!
# An iteration of the engine

The running requests take their tokens in serving order until the budget is spent; then, unless
somebody was preempted, the queues that the engine admits are served with the budget left.
-/

namespace Serq

/-- The number of decoding jobs. -/
def countDecodes : List Job → Nat
  | [] => 0
  | j :: js => if j.mode = .Decode then countDecodes js + 1 else countDecodes js

/-- The units of the engine's memory that the jobs of one mode hold. -/
def kvOf (D : Deployment) (m : Machine) (mode : Mode) : List Job → Nat
  | [] => 0
  | j :: js =>
    (if j.mode = mode then
      match D.memory with
      | none => 0
      | some p => heldOn p (m.at_ j.owner).stack
    else 0) + kvOf D m mode js

/-- The residents as they stand. -/
def runningCtx (D : Deployment) (m : Machine) : Ctx → Nat
  | .Nres => m.jobs.length
  | .Ndec => countDecodes m.jobs
  | .Kvb => kvOf D m .Decode m.jobs
  | .Kvp => kvOf D m .Prefill m.jobs
  | .Now => m.now
  | _ => 0

/-- What the chunk cap reads, as the iteration starts. -/
def planEnv (D : Deployment) (m : Machine) : Env where
  ctx := runningCtx D m
  pool := m.poolQuery D m.sess.size
  stage := m.stageQuery D 0

/-- What the serving keys and `only` read of a resident at its turn. -/
def serveEnv (D : Deployment) (m : Machine) (j : Job) : Env where
  attrs := (m.at_ j.owner).attrs
  ctx c := match c with
    | .Decoding => bit (j.mode = .Decode)
    | .Admission => j.adm
    | .Remaining => j.left
    | c => runningCtx D m c
  pool := m.poolQuery D j.owner
  stage := m.stageQuery D 0

/-- Whether the iteration leaves the resident out. -/
@[inline] def excluded (D : Deployment) (m : Machine) (j : Job) : Bool :=
  match D.only with
  | none => false
  | some e => decide (e.eval (serveEnv D m j) = 0)

/-- What a resident could take: a decode one token, a prefill the rest up to the chunk cap. -/
@[inline] def want (cap : Nat) (j : Job) : Nat :=
  match j.mode with
  | .Decode => if 1 ≤ j.left then 1 else j.left
  | _ => if cap = 0 then j.left else if j.left ≤ cap then j.left else cap

/-- The resident gets `t` tokens; `attn2` is twice their attention work. -/
@[inline] def schedule (D : Deployment) (m : Machine) (j : Job) (t attn2 : Nat) : Machine :=
  let kv := match D.memory with
    | none => 0
    | some p => heldOn p (m.at_ j.owner).stack
  { m with plan := { m.plan with
      batch := m.plan.batch ++ [⟨j.owner, j.mode, t, j.left == t, j.growing, kv, attn2⟩]
      left := m.plan.left - t } }

/-- Twice the attention work of `t` tokens that end at position `x`: none for a decode. -/
@[inline] def attn2Of (mode : Mode) (t x : Nat) : Nat :=
  match mode with
  | .Prefill => t * (2 * x - t)
  | _ => 0

/-- Gives one resident `t` tokens; a growing one first gets the units for the position `x` that it
reaches. The second part is false when the iteration's serving ends with it. -/
@[inline] def giveTokens (D : Deployment) (j : Job) (t : Nat) (m : Machine) : Machine × Bool :=
  match j.growing with
  | none => (schedule D m j t (attn2Of j.mode t t), true)
  | some p => match innermost p (m.at_ j.owner).stack with
    | none => (m, true)
    | some a =>
      let x := a.pos + t
      if x ≤ a.units then (schedule D (moveTo m j.owner p x) j t (attn2Of j.mode t x), true)
      else match grow D p j.owner (roundUp (D.pool p).block x - a.units) (m.jobs.length + 1) m with
        | (m', true) => (schedule D (moveTo m' j.owner p x) j t (attn2Of j.mode t x), true)
        | (m', false) => (m', false)

/-- The tokens for a resident: what it wants, or what is left of the budget. -/
@[inline] def tokensFor (cap : Nat) (j : Job) (m : Machine) : Nat :=
  if want cap j ≤ m.plan.left then want cap j else m.plan.left

/-- Serves one resident, unless this iteration has preempted it or leaves it out. -/
@[inline] def serveJob (D : Deployment) (cap : Nat) (j : Job) (m : Machine) : Machine × Bool :=
  if m.plan.victims.contains j.owner then (m, true)
  else if excluded D m j then (m, true)
  else
    let t := tokensFor cap j m
    if t = 0 then (m, true) else giveTokens D j t m

/-- The place of the job with the least serving keys, read now; the earliest among equals. -/
def leastJob (D : Deployment) (m : Machine) (keys : List Expr) :
    Nat → List Int → Nat → List Job → Nat
  | best, _, _, [] => best
  | best, kb, n, j :: js =>
    let kj := keysOf (serveEnv D m j) keys
    if keysLt kj kb then leastJob D m keys n kj (n + 1) js
    else leastJob D m keys best kb (n + 1) js

/-- The job at a place of `j :: js`, and the others in their order. -/
def takeJob : Nat → Job → List Job → Job × List Job
  | 0, j, js => (j, js)
  | _ + 1, j, [] => (j, [])
  | n + 1, j, x :: xs => let (y, rest) := takeJob n x xs; (y, j :: rest)

/-- Whose turn it is among the residents not yet served. -/
@[inline] def nextJob (D : Deployment) (m : Machine) : List Job → Option (Job × List Job)
  | [] => none
  | j :: js => match D.serve with
    | [] => some (j, js)
    | keys => some (takeJob (leastJob D m keys 0 (keysOf (serveEnv D m j) keys) 1 js) j js)

/-- Serves the residents of a list until the budget is spent. -/
def serveAll (D : Deployment) (cap : Nat) : Nat → List Job → Machine → Machine
  | 0, _, m => m
  | fuel + 1, todo, m => match nextJob D m todo with
    | none => m
    | some (j, rest) => match serveJob D cap j m with
      | (m', false) => m'
      | (m', true) => if m'.plan.left = 0 then m' else serveAll D cap fuel rest m'

/-- Session `i`'s job. -/
def findJob (i : Nat) : List Job → Option Job
  | [] => none
  | j :: js => if j.owner = i then some j else findJob i js

/-- The first pool, in declaration order, that the engine admits and in which somebody waits. -/
def engineQueue (m : Machine) : List Pool → Nat → Option Nat
  | [], _ => none
  | P :: Ps, p =>
    if P.admitVia then
      match (m.pool p).queue with
      | [] => engineQueue m Ps (p + 1)
      | _ => some p
    else engineQueue m Ps (p + 1)

/-- The rounds of admission of one iteration. -/
def admissionFuel : Nat := 100000

/-- Session `i` is admitted from pool `p`, runs up to its job, and is served at once. -/
def admitNext (D : Deployment) (cap p i : Nat) (m : Machine) : Machine :=
  let m1 := admit D m p i m.plan.left
  let cached := Arr.at! (m1.at_ i).attrs D.slotCached
  let m2 := drain D instantFuel
    { m1 with plan := { m1.plan with entered := m1.plan.entered ++ [(i, cached)] } }
  match findJob i m2.jobs with
  | none => m2
  | some j => (serveJob D cap j m2).1

/-- Admits the heads of the queues that the engine serves, while budget is left, the head fits and
nobody was preempted. -/
def admitWaiting (D : Deployment) (cap : Nat) : Nat → Machine → Machine
  | 0, m => { m with outOfFuel := true }
  | fuel + 1, m =>
    if m.plan.left = 0 then m
    else match m.plan.victims with
      | _ :: _ => m
      | [] => match engineQueue m D.pools 0 with
        | none => m
        | some p => match selected D m p m.plan.left with
          | none => m
          | some i =>
            if fits D m i m.plan.left then admitWaiting D cap fuel (admitNext D cap p i m) else m

/-- The batch as the iteration's cost reads it. -/
def statsOf : List Entry → IterStats
  | [] => {}
  | e :: es =>
    let s := statsOf es
    match e.mode with
    | .Decode =>
      { s with tokens := e.tokens + s.tokens, decoders := s.decoders + 1,
               kvDecode := e.kv + s.kvDecode }
    | _ =>
      { s with tokens := e.tokens + s.tokens, prefilled := e.tokens + s.prefilled,
               kvPrefill := e.kv + s.kvPrefill, attention2 := e.attn2 + s.attention2 }

/-- The same with the sums so far at hand. -/
def statsLoop (t p d kd kp a : Nat) : List Entry → IterStats
  | [] => ⟨t, p, d, kd, kp, a⟩
  | e :: es => match e.mode with
    | .Decode => statsLoop (t + e.tokens) p (d + 1) (kd + e.kv) kp a es
    | _ => statsLoop (t + e.tokens) (p + e.tokens) d kd (kp + e.kv) (a + e.attn2) es

/-- The sums so far are added to. -/
theorem statsLoop_eq (l : List Entry) (t p d kd kp a : Nat) :
    statsLoop t p d kd kp a l =
      ⟨t + (statsOf l).tokens, p + (statsOf l).prefilled, d + (statsOf l).decoders,
        kd + (statsOf l).kvDecode, kp + (statsOf l).kvPrefill, a + (statsOf l).attention2⟩ := by
  induction l generalizing t p d kd kp a with
  | nil => rfl
  | cons e es ih =>
    simp only [statsLoop, statsOf]
    split <;> simp [ih, Nat.add_assoc, Nat.add_comm 1]

/-- A batch summed from its beginning. -/
def statsOfFast (l : List Entry) : IterStats := statsLoop 0 0 0 0 0 0 l

/-- A sum from the beginning is the sum. -/
@[csimp] theorem statsOf_eq_statsOfFast : @statsOf = @statsOfFast := by
  funext l
  simp [statsOfFast, statsLoop_eq]

/-- What the cost of an iteration reads. `Attn` is twice `batch.attention`. -/
def statsEnv (residents now : Nat) (s : IterStats) : Env where
  ctx c := match c with
    | .Ntok => s.tokens
    | .Npre => s.prefilled
    | .Ndec => s.decoders
    | .Kvb => s.kvDecode
    | .Kvp => s.kvPrefill
    | .Attn => s.attention2
    | .Nres => residents
    | .Now => now
    | _ => 0

/-- What the residents could take if the budget were unlimited. -/
def sumWant (cap : Nat) : List Job → Nat
  | [] => 0
  | j :: js => want cap j + sumWant cap js

/-- The batch's tokens by session. -/
def batchPairs : List Entry → List (Nat × Nat)
  | [] => []
  | e :: es => (e.owner, e.tokens) :: batchPairs es

/-- The pools as an iteration starts. -/
def poolRecs : List PoolSt → List PoolRec
  | [] => []
  | st :: rest => ⟨st.queue.length, distinct st.holders, st.used⟩ :: poolRecs rest

/-- Whether the engine has something to do. -/
def busy (D : Deployment) (m : Machine) : Bool :=
  match m.jobs with
  | _ :: _ => true
  | [] => (engineQueue m D.pools 0).isSome

/-- The chunk cap of an iteration that starts now; 0 is none. -/
def chunkCap (D : Deployment) (m : Machine) : Nat := D.chunk.eval (planEnv D m)

/-- The same, a number read as it stands. -/
def chunkCapFast (D : Deployment) (m : Machine) : Nat :=
  match D.chunk with
  | .Num n => n
  | e => e.eval (planEnv D m)

/-- A number is its value. -/
@[csimp] theorem chunkCap_eq_chunkCapFast : @chunkCap = @chunkCapFast := by
  funext D m
  simp only [chunkCap, chunkCapFast]
  split
  · next h => simp [h, Expr.eval]
  · rfl

/-- The batch of an iteration that starts now. -/
def buildBatch (D : Deployment) (cap : Nat) (m : Machine) : Machine :=
  let m := { m with plan :=
    { batch := [], left := D.budget, victims := [], entered := [], preempts := m.plan.preempts } }
  admitWaiting D cap admissionFuel (serveAll D cap m.jobs.length m.jobs m)

/-- The record of the iteration whose batch has been formed. -/
@[inline] def recordOf (cap : Nat) (m : Machine) : IterRec :=
  let s := statsOf m.plan.batch
  { start := m.now, served := m.clock.served
    tokens := s.tokens, prefilled := s.prefilled, decoders := s.decoders
    kvDecode := s.kvDecode, kvPrefill := s.kvPrefill, attention2 := s.attention2
    residents := m.jobs.length, demand := sumWant cap m.jobs, arrived := m.clock.arrived
    batch := batchPairs m.plan.batch, admitted := m.plan.entered, preempted := m.plan.victims
    pools := poolRecs m.pools, preempts := m.plan.preempts, counters := m.counters }

/-- How long the iteration whose batch has been formed lasts: its cost, and at least 1. -/
@[inline] def costOf (D : Deployment) (m : Machine) : Nat :=
  let c := D.cost.eval (statsEnv m.jobs.length m.now (statsOf m.plan.batch))
  if 1 ≤ c then c else 1

/-- The iteration whose batch has been formed starts. -/
def beginIteration (D : Deployment) (cap : Nat) (m : Machine) : Machine :=
  { m with
    clock := { m.clock with
      iterEnd := some (m.now + costOf D m, m.nextEvent)
      served := m.clock.served + (statsOf m.plan.batch).tokens
      iters := m.clock.iters + 1
      last := recordOf cap m }
    nextEvent := m.nextEvent + 1 }

/-- Starts an iteration if the engine has something to do and something comes of it: a token, or a
preemption. -/
def startIteration (D : Deployment) (m : Machine) : Machine :=
  if busy D m then
    let cap := chunkCap D m
    let m := buildBatch D cap m
    match m.plan.batch, m.plan.victims with
    | [], [] => m
    | _, _ => beginIteration D cap m
  else m

/-- The jobs after the batch: each loses its tokens. -/
def applyBatch (batch : List Entry) : List Job → List Job
  | [] => []
  | j :: js => { j with left := j.left - tokensOf j.owner batch } :: applyBatch batch js

/-- The jobs that have work left. -/
def unfinished : List Job → List Job
  | [] => []
  | j :: js => if j.left = 0 then unfinished js else j :: unfinished js

/-- A session whose run ends with the batch is ready. -/
@[inline] def applyEntry (m : Machine) (e : Entry) : Machine := if e.ends then wake m e.owner else m

/-- The batch takes effect, in serving order. -/
def applyEntries : List Entry → Machine → Machine
  | [], m => m
  | e :: es, m => applyEntries es (applyEntry m e)

/-- The running iteration ends. -/
def endIteration (m : Machine) : Machine :=
  let jobs := unfinished (applyBatch m.plan.batch m.jobs)
  let m := applyEntries m.plan.batch m
  { m with
    jobs := jobs
    plan := { m.plan with batch := [] }
    clock := { m.clock with iterEnd := none } }

end Serq
