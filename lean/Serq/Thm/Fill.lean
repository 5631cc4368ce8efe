import Serq.Thm.Rate
/-!
# The greedy fill

An iteration without growth hands its budget out along the residents: each gets what it wants as long
as the budget lasts. First the amounts alone, then the executable batch.
-/

namespace Serq

/-! ## Amounts -/

/-- What each of a list of wants gets of `left` tokens, first come, first served. -/
def fillAmounts (left : Nat) : List Nat → List Nat
  | [] => []
  | w :: ws => min w left :: fillAmounts (left - min w left) ws

/-- The sum of a list. -/
def listSum : List Nat → Nat
  | [] => 0
  | a :: as => a + listSum as

/-- Everybody gets an answer. -/
theorem fillAmounts_length (left : Nat) (ws : List Nat) :
    (fillAmounts left ws).length = ws.length := by
  induction ws generalizing left with
  | nil => rfl
  | cons w ws ih => simp [fillAmounts, ih]

/-- Nobody gets more than it wants. -/
theorem fillAmounts_le_want (left : Nat) (ws : List Nat) (k : Nat) :
    Lst.nth 0 (fillAmounts left ws) k ≤ Lst.nth 0 ws k := by
  induction ws generalizing left k with
  | nil => exact Nat.le_refl _
  | cons w ws ih =>
    cases k with
    | zero => simp only [fillAmounts, Lst.nth]; omega
    | succ k => exact ih _ k

/-- Without budget nobody gets anything. -/
theorem fillAmounts_zero (ws : List Nat) (k : Nat) : Lst.nth 0 (fillAmounts 0 ws) k = 0 := by
  induction ws generalizing k with
  | nil => rfl
  | cons w ws ih =>
    cases k with
    | zero => simp [fillAmounts, Lst.nth]
    | succ k => simpa [fillAmounts, Lst.nth] using ih k

/-- If somebody gets a token, everybody before got all it wanted. -/
theorem fillAmounts_fifo (left : Nat) (ws : List Nat) {i k : Nat} (hik : i < k)
    (hk : 0 < Lst.nth 0 (fillAmounts left ws) k) :
    Lst.nth 0 (fillAmounts left ws) i = Lst.nth 0 ws i := by
  induction ws generalizing left i k with
  | nil => rfl
  | cons w ws ih =>
    cases k with
    | zero => omega
    | succ k =>
      cases i with
      | zero =>
        simp only [fillAmounts, Lst.nth] at hk ⊢
        by_cases h : w ≤ left
        · omega
        · have h0 : left - min w left = 0 := by omega
          rw [h0, fillAmounts_zero] at hk
          omega
      | succ i => exact ih _ (by omega) hk

/-- What is handed out is the budget or all that is wanted, whichever is less. -/
theorem fillAmounts_sum (left : Nat) (ws : List Nat) :
    listSum (fillAmounts left ws) = min left (listSum ws) := by
  induction ws generalizing left with
  | nil => simp [fillAmounts, listSum]
  | cons w ws ih =>
    simp only [fillAmounts, listSum, ih]
    omega

/-! ## The batch -/

/-- The entry of a resident that grows nothing and gets `t` tokens. -/
def plainEntry (D : Deployment) (m : Machine) (j : Job) (t : Nat) : Entry :=
  ⟨j.owner, j.mode, t, j.left == t, none,
    match D.memory with
    | none => 0
    | some p => heldOn p (m.at_ j.owner).stack,
    attn2Of j.mode t t⟩

/-- The greedy batch of residents that grow nothing: nobody without a token stands in it. -/
def fillBatch (D : Deployment) (m : Machine) (cap : Nat) : Nat → List Job → List Entry
  | _, [] => []
  | left, j :: js =>
    if min (want cap j) left = 0 then fillBatch D m cap left js
    else plainEntry D m j (min (want cap j) left) ::
      fillBatch D m cap (left - min (want cap j) left) js

/-- The residents that the iteration's predicate lets through. -/
def letThrough (D : Deployment) (m : Machine) : List Job → List Job
  | [] => []
  | j :: js => if excluded D m j then letThrough D m js else j :: letThrough D m js

/-- The wants of a list of residents. -/
def wants (cap : Nat) (js : List Job) : List Nat := js.map (want cap)

/-- The demand of a list of residents is the sum of their wants. -/
theorem sumWant_eq (cap : Nat) (js : List Job) : sumWant cap js = listSum (wants cap js) := by
  induction js with
  | nil => rfl
  | cons j js ih => simp [sumWant, wants, listSum, ih] at *

/-- Without budget the batch is empty. -/
theorem fillBatch_zero (D : Deployment) (m : Machine) (cap : Nat) (js : List Job) :
    fillBatch D m cap 0 js = [] := by
  induction js with
  | nil => rfl
  | cons j js ih => simp [fillBatch, ih]

/-- The batch's entries are the amounts that are not zero. -/
theorem fillBatch_tokens (D : Deployment) (m : Machine) (cap left : Nat) (js : List Job) :
    (fillBatch D m cap left js).map (·.tokens) =
      (fillAmounts left (wants cap js)).filter (· != 0) := by
  induction js generalizing left with
  | nil => rfl
  | cons j js ih =>
    simp only [fillBatch, wants, List.map_cons, fillAmounts]
    split
    · next h => simp [h, ih left, wants]
    · next h => simp [h, ih, wants, plainEntry]

/-- The greedy batch hands out the budget or all that is wanted, whichever is less. -/
theorem sumTokens_fillBatch (D : Deployment) (m : Machine) (cap left : Nat) (js : List Job) :
    sumTokens (fillBatch D m cap left js) = min left (sumWant cap js) := by
  induction js generalizing left with
  | nil => simp [fillBatch, sumTokens, sumWant]
  | cons j js ih =>
    simp only [fillBatch, sumWant]
    split
    · next h => rw [ih]; omega
    · next h =>
      simp only [sumTokens, plainEntry, ih]
      omega

/-! ## Batch building is the greedy fill -/

/-- What a resident's key or predicate reads does not depend on the batch as far as it is built. -/
theorem serveEnv_plan (D : Deployment) (m : Machine) (j : Job) (p : Plan)
    (h : m.clock.iterEnd = none) : serveEnv D { m with plan := p } j = serveEnv D m j := by
  have hs : Machine.stageQuery D { m with plan := p } 0 = Machine.stageQuery D m 0 := by
    funext f s
    cases f <;> simp [Machine.stageQuery, h, Machine.stage]
  have hk : ∀ mode js, kvOf D { m with plan := p } mode js = kvOf D m mode js := by
    intro mode js
    induction js with
    | nil => rfl
    | cons x xs ih => simp [kvOf, ih, Machine.at_]
  have hr : runningCtx D { m with plan := p } = runningCtx D m := by
    funext c
    cases c <;> simp [runningCtx, hk]
  simp only [serveEnv, hs, hr]
  rfl

/-- Whom the predicate leaves out does not depend on the batch as far as it is built. -/
theorem excluded_plan (D : Deployment) (m : Machine) (j : Job) (p : Plan)
    (h : m.clock.iterEnd = none) : excluded D { m with plan := p } j = excluded D m j := by
  simp only [excluded, serveEnv_plan D m j p h]

/-- Who is let through does not depend on the batch as far as it is built. -/
theorem letThrough_plan (D : Deployment) (m : Machine) (p : Plan) (h : m.clock.iterEnd = none)
    (js : List Job) : letThrough D { m with plan := p } js = letThrough D m js := by
  induction js with
  | nil => rfl
  | cons j js ih => simp [letThrough, excluded_plan D m j p h, ih]

/-- The greedy batch does not depend on the batch as far as it is built. -/
theorem fillBatch_plan (D : Deployment) (m : Machine) (p : Plan) (cap left : Nat) (js : List Job) :
    fillBatch D { m with plan := p } cap left js = fillBatch D m cap left js := by
  induction js generalizing left with
  | nil => rfl
  | cons j js ih =>
    simp only [fillBatch, ih]
    rfl

/-- Without a predicate everybody is let through. -/
theorem letThrough_all {D : Deployment} (h : D.only = none) (m : Machine) (js : List Job) :
    letThrough D m js = js := by
  induction js with
  | nil => rfl
  | cons j js ih => simp [letThrough, excluded, h, ih]

/-- A plan after the greedy fill of some residents. -/
def filled (D : Deployment) (m : Machine) (cap : Nat) (js : List Job) : Plan :=
  { m.plan with
    batch := m.plan.batch ++ fillBatch D m cap m.plan.left js
    left := m.plan.left - sumTokens (fillBatch D m cap m.plan.left js) }

/-- Serving residents that grow nothing, in admission order, is the greedy fill of those that the
predicate lets through. -/
theorem serveAll_eq_fill {D : Deployment} (hs : D.serve = []) (cap : Nat) (todo : List Job) :
    ∀ (n : Nat) (m : Machine), todo.length ≤ n → m.plan.victims = [] → m.clock.iterEnd = none →
      (∀ j ∈ todo, j.growing = none) →
      serveAll D cap n todo m = { m with plan := filled D m cap (letThrough D m todo) } := by
  induction todo with
  | nil =>
    intro n m _ _ _ _
    cases n <;> simp [serveAll, nextJob, filled, letThrough, fillBatch, sumTokens]
  | cons j js ih =>
    intro n m hn hv hi hg
    cases n with
    | zero => simp at hn
    | succ n =>
      have hgj : j.growing = none := hg j (by simp)
      have hgs : ∀ x ∈ js, x.growing = none := fun x hx => hg x (by simp [hx])
      have hn' : js.length ≤ n := by simpa using hn
      -- what serving the first resident does
      have key : ∃ p : Plan, serveJob D cap j m = ({ m with plan := p }, true) ∧
          p.victims = [] ∧
          filled D { m with plan := p } cap (letThrough D m js) =
            filled D m cap (letThrough D m (j :: js)) := by
        unfold serveJob
        simp only [hv, List.contains_nil, if_false, Bool.false_eq_true, letThrough]
        by_cases he : excluded D m j = true
        · refine ⟨m.plan, ?_, hv, ?_⟩
          · simp [he]
          · simp [he]
        · simp only [he, if_false, Bool.false_eq_true]
          have hmin : tokensFor cap j m = min (want cap j) m.plan.left := by
            unfold tokensFor
            split <;> omega
          simp only [hmin]
          by_cases ht : min (want cap j) m.plan.left = 0
          · refine ⟨m.plan, ?_, hv, ?_⟩
            · simp [ht]
            · simp only [filled, fillBatch, ht, if_true]
          · simp only [ht, if_false, giveTokens, hgj, schedule]
            refine ⟨_, rfl, hv, ?_⟩
            simp only [filled, fillBatch, ht, if_false, fillBatch_plan, List.append_assoc,
              List.cons_append, List.nil_append, sumTokens, plainEntry]
            congr 1
            omega
      obtain ⟨p, h1, h2, h3⟩ := key
      unfold serveAll
      simp only [nextJob, hs, h1]
      have hrest := ih n { m with plan := p } hn' h2 hi hgs
      rw [letThrough_plan D m p hi] at hrest
      by_cases hl : p.left = 0
      · simp only [hl, if_true]
        rw [← h3]
        simp only [filled, hl, fillBatch_zero, List.append_nil, sumTokens, Nat.sub_zero]
        congr 1
        cases p
        simp_all
      · simp only [hl, if_false]
        rw [hrest, h3]

/-- Where nobody waits for the engine, it admits nobody. -/
theorem admitWaiting_none {D : Deployment} {m : Machine} (cap n : Nat)
    (h : engineQueue m D.pools 0 = none) : admitWaiting D cap (n + 1) m = m := by
  unfold admitWaiting
  split
  · rfl
  · split
    · rfl
    · simp [h]

/-- No pool is admitted by the engine. -/
def noEnginePools (D : Deployment) : Prop := ∀ P ∈ D.pools, P.admitVia = false

/-- Without pools that the engine admits, nobody waits for it. -/
theorem engineQueue_none (m : Machine) {Ps : List Pool} (h : ∀ P ∈ Ps, P.admitVia = false)
    (p : Nat) : engineQueue m Ps p = none := by
  induction Ps generalizing p with
  | nil => rfl
  | cons P Ps ih =>
    unfold engineQueue
    rw [h P (by simp)]
    exact ih (fun Q hQ => h Q (by simp [hQ])) (p + 1)

/-- Who waits for the engine does not depend on the batch as far as it is built. -/
theorem engineQueue_plan (m : Machine) (p : Plan) (Ps : List Pool) (i : Nat) :
    engineQueue { m with plan := p } Ps i = engineQueue m Ps i := by
  induction Ps generalizing i with
  | nil => rfl
  | cons P Ps ih => simp [engineQueue, ih, Machine.pool]

/-- The batch is the greedy fill of the residents that the predicate lets through, when they grow
nothing, are served in admission order and nobody waits for the engine. -/
theorem buildBatch_eq_fill {D : Deployment} (hs : D.serve = []) {m : Machine} (cap : Nat)
    (hi : m.clock.iterEnd = none) (hg : ∀ j ∈ m.jobs, j.growing = none)
    (hq : engineQueue m D.pools 0 = none) :
    buildBatch D cap m = { m with plan :=
      { batch := fillBatch D m cap D.budget (letThrough D m m.jobs)
        left := D.budget - sumTokens (fillBatch D m cap D.budget (letThrough D m m.jobs))
        victims := [], entered := [], preempts := m.plan.preempts } } := by
  unfold buildBatch
  simp only
  have h := serveAll_eq_fill hs cap m.jobs m.jobs.length
    { m with plan := { left := D.budget, preempts := m.plan.preempts } } (Nat.le_refl _) rfl hi hg
  simp only at h
  rw [h, show admissionFuel = 99999 + 1 from rfl, admitWaiting_none]
  · simp [filled, fillBatch_plan, letThrough_plan D m _ hi]
  · rw [engineQueue_plan, engineQueue_plan]
    exact hq

/-- The same without a predicate: the greedy fill of all residents. -/
theorem buildBatch_eq_fill_all {D : Deployment} (hs : D.serve = []) (ho : D.only = none)
    {m : Machine} (cap : Nat) (hi : m.clock.iterEnd = none) (hg : ∀ j ∈ m.jobs, j.growing = none)
    (hq : engineQueue m D.pools 0 = none) :
    (buildBatch D cap m).plan.batch = fillBatch D m cap D.budget m.jobs ∧
      (buildBatch D cap m).jobs = m.jobs := by
  rw [buildBatch_eq_fill hs cap hi hg hq, letThrough_all ho]
  exact ⟨rfl, rfl⟩

end Serq
