import Serq.Papers.Sums
import Serq.Thm.TwoRuns
/-!
# Sarathi-Serve's backlog (Dai, Deng, Li, Peng, arXiv 2504.07347)

The work that has come and is not served stays bounded at the largest load that can be stable. With `a`
the number of requests that have come, `s` the tokens scheduled, the running batch included, and `e` the
end of the running iteration (the time, when none runs):

* `Fluid`: while an arrival is pending, `1280 * e ≤ 46750 * (s + 165120)`; when none is,
  `1280 * a ≤ s + 165120`. As the `a`-th request comes at `46750 * a`, both bound the backlog.
* A full batch keeps `Fluid` exactly: `1280 * 4675 = 46750 * 128`.
* A batch that is not full serves all there is to do, so fewer than 128 requests are there, each with at
  most 1280 tokens: `1280 * a ≤ s + 1280 * 127`; and the next one has not come: `now ≤ 46750 * (a + 1)`.
* An idle engine has nothing left: `1280 * a ≤ s`, until the next one comes.

`Conserved` says that no work is lost: what has come is served, in the running batch or still there.
-/

namespace Serq.Papers.Dai

/-- The program as one of two runs. -/
def params : TwoRuns.Params where
  a := 9
  t0 := .CtxVar .Now
  work1 := .Num 290
  work2 := .Num 990
  o := 0
  value := .Binary .Sub (.CtxVar .Now) (.Attr 9)

/-- The sessions' program. -/
def prog : Block := TwoRuns.prog params

/-- The engine: at most 128 tokens in a batch, which lasts `1128 + 3547 * ceil(tokens / 128)`. What stands
here is independent of the generated statements; that the two are the same is checked where the claim is
proved. -/
def deployment : Deployment :=
  { stages := [.Step]
    budget := 128
    cost := .Binary .Add (.Num 1128) (.Binary .Mul (.Num 3547) (.Call .Ceil (.CtxVar .Ntok) (.Num 128))) }

/-- What a job can have left. -/
def Amount (mode : Mode) (n : Nat) : Prop :=
  (mode = .Prefill ∧ n ≤ 290) ∨ (mode = .Decode ∧ n ≤ 990)

/-- The state of a path. -/
abbrev State (m : Machine) : Prop :=
  TwoRuns.Inv params (fun _ => True) Amount (fun _ _ => True) m

/-- The amounts are as the program says, and shrink. -/
theorem setting :
    TwoRuns.Setting deployment params (fun _ => True) Amount (fun _ _ => True) where
  pools := rfl
  stages := rfl
  serve := rfl
  keepNote _ _ _ := trivial
  keepTurn _ _ _ := trivial
  prefill _ _ := Or.inl ⟨rfl, Nat.le_refl _⟩
  decode _ _ := Or.inr ⟨rfl, Nat.le_refl _⟩
  tokens mode left t h _ := by
    rcases h with ⟨h1, h2⟩ | ⟨h1, h2⟩
    · exact Or.inl ⟨h1, by omega⟩
    · exact Or.inr ⟨h1, by omega⟩

/-! ## Work -/

/-- The tokens of the runs that a chain of statements has still to come to. -/
def debtOf : Block → Nat
  | .Set _ _ k | .Turn k | .Observe _ _ k => debtOf k
  | .Run _ _ (.Num w) _ k => w + debtOf k
  | _ => 0

/-- A chain of notes, observations and runs at the engine. -/
def Plain : Block → Prop
  | .Set _ _ k | .Turn k | .Observe _ _ k => Plain k
  | .Run s _ (.Num _) g k => s = { base := 0 } ∧ g = none ∧ Plain k
  | .End => True
  | _ => False

/-- A ready session's program is such a chain. -/
theorem plain_of {b : Block} (h : TwoRuns.Place params b .ready) : Plain b := by
  generalize hr : Status.ready = r at h
  cases h <;> simp at hr <;>
    simp [Plain, TwoRuns.prog, TwoRuns.rest1, TwoRuns.rest2, TwoRuns.rest3, TwoRuns.rest4, params]

/-- The tokens of the runs that a session has still to come to. -/
def debt (m : Machine) (i : Nat) : Nat := debtOf (m.at_ i).prog

/-- The tokens that are there to be served: of the ready sessions and of the residents. -/
def work (m : Machine) : Nat :=
  sumBy (debt m) m.ready + sumBy (fun j => j.left + debt m j.owner) m.jobs

variable {m m' : Machine} {i : Nat}

/-- A change of a session that stands in no list does not change the work. -/
theorem work_elsewhere (hother : ∀ k, k ≠ i → m'.at_ k = m.at_ k) (hn : i ∉ m.ready)
    (hnj : ∀ j ∈ m.jobs, j.owner ≠ i) (hr : m'.ready = m.ready) (hj : m'.jobs = m.jobs) :
    work m' = work m := by
  unfold work
  rw [hr, hj]
  have h1 : sumBy (debt m') m.ready = sumBy (debt m) m.ready :=
    sumBy_congr fun k hk => by
      unfold debt
      rw [hother k fun h => hn (h ▸ hk)]
  have h2 : sumBy (fun j : Job => j.left + debt m' j.owner) m.jobs =
      sumBy (fun j => j.left + debt m j.owner) m.jobs :=
    sumBy_congr fun j hj => by
      unfold debt
      rw [hother _ (hnj j hj)]
  rw [h1, h2]

/-- Running a session's commands: its debt becomes a job's work, and nothing is lost. -/
theorem exec_work (fuel : Nat) : ∀ m : Machine, i < m.sess.size → i ∉ m.ready →
    (∀ j ∈ m.jobs, j.owner ≠ i) → (m.at_ i).stack = [] → (m.at_ i).turns = none →
    (m.at_ i).status = .ready → Plain (m.at_ i).prog →
    (exec deployment fuel m i).outOfFuel = false →
    work (exec deployment fuel m i) = work m + debt m i ∧
      ∀ j ∈ m.jobs, j ∈ (exec deployment fuel m i).jobs := by
  induction fuel with
  | zero =>
    intro m _ _ _ _ _ _ _ hf
    simp [exec] at hf
  | succ fuel ih =>
    intro m hi hn hnj hst ht hs hpl
    -- a command that changes the session and goes on
    have cont : ∀ (k : Block) (f : Sess → Sess) (l : List Obs), Plain k → debtOf k = debt m i →
        (f (m.at_ i)).prog = k → (f (m.at_ i)).stack = [] → (f (m.at_ i)).turns = none →
        (f (m.at_ i)).status = .ready →
        (exec deployment fuel { m.modSess i f with obs := l } i).outOfFuel = false →
        work (exec deployment fuel { m.modSess i f with obs := l } i) = work m + debt m i ∧
          ∀ j ∈ m.jobs, j ∈ (exec deployment fuel { m.modSess i f with obs := l } i).jobs := by
      intro k f l hk hd hfp hfs hft hfr hf
      have hat : ({ m.modSess i f with obs := l } : Machine).at_ i = f (m.at_ i) :=
        TwoRuns.at_mod_self hi f
      have hw : work { m.modSess i f with obs := l } = work m :=
        work_elsewhere (i := i) (fun k hk => TwoRuns.at_mod_other (Ne.symm hk) f) hn hnj rfl rfl
      have hdebt : debt { m.modSess i f with obs := l } i = debt m i := by
        unfold debt at hd ⊢
        rw [hat, hfp, hd]
      obtain ⟨h1, h2⟩ := ih { m.modSess i f with obs := l } (by simpa [Machine.modSess] using hi) hn hnj
        (by rw [hat]; exact hfs) (by rw [hat]; exact hft) (by rw [hat]; exact hfr)
        (by rw [hat, hfp]; exact hk) hf
      exact ⟨by rw [h1, hw, hdebt], h2⟩
    unfold exec
    simp only [hs]
    cases hp : (m.at_ i).prog with
    | Set slot e k =>
      rw [hp] at hpl
      exact cont k _ m.obs hpl (by simp [debt, hp, debtOf]) rfl hst ht hs
    | Turn k =>
      rw [hp] at hpl
      refine cont k (fun s => nextTurn deployment { s with prog := k }) m.obs hpl
        (by simp [debt, hp, debtOf]) ?_ ?_ ?_ ?_ <;> simp [nextTurn, ht, hst, hs]
    | Observe o e k =>
      rw [hp] at hpl
      exact cont k (fun s => { s with prog := k }) _ hpl (by simp [debt, hp, debtOf]) rfl hst ht hs
    | Run stage mode w growing k =>
      rw [hp] at hpl
      cases w with
      | Num w =>
        obtain ⟨rfl, rfl, hk⟩ := hpl
        intro _
        simp only [Expr.eval, evalRef]
        have hat : (m.modSess i fun s => { s with prog := k }).at_ i = { m.at_ i with prog := k } :=
          TwoRuns.at_mod_self hi _
        have hd : debt m i = w + debtOf k := by simp [debt, hp, debtOf]
        have hw : work (m.modSess i fun s => { s with prog := k }) = work m :=
          work_elsewhere (i := i) (fun x hx => TwoRuns.at_mod_other (Ne.symm hx) _) hn hnj rfl rfl
        generalize hm1 : (m.modSess i fun s => { s with prog := k }) = m1 at hat hw
        have hd1 : debt m1 i = debtOf k := by
          unfold debt
          rw [hat]
        split
        · next hw0 =>
          refine ⟨?_, fun j hj => by rw [← hm1]; exact hj⟩
          have e1 : work { m1 with ready := m1.ready ++ [i] } = work m1 + debt m1 i := by
            show sumBy (debt m1) (m1.ready ++ [i]) +
              sumBy (fun j : Job => j.left + debt m1 j.owner) m1.jobs = _
            rw [sumBy_append]
            simp only [sumBy, work]
            omega
          rw [e1, hw, hd, hd1]
          omega
        · next hw0 =>
          have hstage : deployment.stage (Ref.eval (m.sessEnv deployment i 0) { base := 0 }) = .Step :=
            rfl
          simp only [startRun, hstage]
          have hi1 : i < m1.sess.size := by rw [← hm1]; simpa [Machine.modSess] using hi
          have hr1 : m1.ready = m.ready := by rw [← hm1]; rfl
          have hj1 : m1.jobs = m.jobs := by rw [← hm1]; rfl
          generalize hm2 : (m1.modSess i fun s => { s with status := .engine }) = m2
          have hat2 : m2.at_ i = { m1.at_ i with status := .engine } := by
            rw [← hm2]; exact TwoRuns.at_mod_self hi1 _
          have hw2 : work m2 = work m1 := by
            refine work_elsewhere (i := i) (fun x hx => ?_) (by rw [hr1]; exact hn)
              (by rw [hj1]; exact hnj) ?_ ?_
            · rw [← hm2]; exact TwoRuns.at_mod_other (Ne.symm hx) _
            · rw [← hm2]; rfl
            · rw [← hm2]; rfl
          have hj2 : m2.jobs = m.jobs := by rw [← hm2]; exact hj1
          have hp := perm_insertJob ⟨i, (m1.at_ i).adm, mode, w, none⟩ m1.jobs
          refine ⟨?_, fun j hj => hp.mem_iff.mpr (List.mem_cons_of_mem _ (by rw [hj1]; exact hj))⟩
          have e1 : work { m2 with jobs := insertJob ⟨i, (m1.at_ i).adm, mode, w, none⟩ m1.jobs } =
              work m2 + (w + debt m2 i) := by
            have e2 := sumBy_perm (fun j : Job => j.left + debt m2 j.owner) hp
            simp only [sumBy] at e2
            unfold work
            show sumBy (debt m2) m2.ready + sumBy (fun j => j.left + debt m2 j.owner)
              (insertJob ⟨i, (m1.at_ i).adm, mode, w, none⟩ m1.jobs) = _
            rw [e2, hj2, hj1]
            omega
          rw [e1, hw2, hw, hd]
          have : debt m2 i = debtOf k := by
            unfold debt
            rw [hat2, hat]
          rw [this]
      | _ => exact absurd hpl (by simp [Plain])
    | End =>
      intro _
      simp only [endSession, hst, releaseStack]
      refine ⟨?_, fun j hj => hj⟩
      have hd : debt m i = 0 := by simp [debt, hp, debtOf]
      rw [hd, Nat.add_zero]
      exact work_elsewhere (i := i) (fun x hx => TwoRuns.at_mod_other (Ne.symm hx) _) hn hnj rfl rfl
    | _ => rw [hp] at hpl; exact absurd hpl (by simp [Plain])

/-- Running the ready sessions loses no work and no job. -/
theorem drain_work (fuel : Nat) : ∀ m, State m → (drain deployment fuel m).outOfFuel = false →
    work (drain deployment fuel m) = work m ∧ (∀ j ∈ m.jobs, j ∈ (drain deployment fuel m).jobs) ∧
      (drain deployment fuel m).ready = [] := by
  induction fuel with
  | zero => intro m _ hf; simp [drain] at hf
  | succ fuel ih =>
    intro m h
    unfold drain
    split
    · next hr => exact fun _ => ⟨rfl, fun j hj => hj, hr⟩
    · next i is hr =>
      intro hf
      have hnd := h.nodup
      rw [hr] at hnd
      have hin := h.ready i (by simp [hr])
      have hir : i ∉ is := (List.nodup_cons.mp hnd).1
      have h1 : State { m with ready := is } := by
        refine ⟨h.sess, (List.nodup_cons.mp hnd).2, ?_, ?_, h.owners, h.dues, h.batch, h.entries, h.idle,
          h.born, h.coming⟩
        · intro k hk; exact h.ready k (by simp [hr, hk])
        · intro j hj
          obtain ⟨g1, g2, g3, g4, g5, g6⟩ := h.jobs j hj
          exact ⟨g1, g2, g3, g4, g5, g6⟩
      have h2 := h1.exec setting (i := i) hin.1 hir execFuel
      have hef : (exec deployment execFuel { m with ready := is } i).outOfFuel = false := by
        cases hb : (exec deployment execFuel { m with ready := is } i).outOfFuel with
        | false => rfl
        | true => rw [(same_drain deployment fuel _).fuel hb] at hf; exact absurd hf (by simp)
      have hso := h.sess i hin.1
      have hpl : Plain (m.at_ i).prog := plain_of (by have := hso.place; rw [hin.2] at this; exact this)
      obtain ⟨w1, w2⟩ := exec_work (i := i) execFuel { m with ready := is } hin.1 hir
        (h.no_job (by rw [hin.2]; simp)) hso.stack hso.turns hin.2 hpl hef
      obtain ⟨d1, d2, d3⟩ := ih _ h2 hf
      refine ⟨?_, fun j hj => d2 j (w2 j hj), d3⟩
      rw [d1, w1]
      have : work m = sumBy (debt m) (i :: is) + sumBy (fun j => j.left + debt m j.owner) m.jobs := by
        rw [← hr]; rfl
      rw [this]
      simp only [sumBy]
      show sumBy (debt m) is + sumBy (fun j => j.left + debt m j.owner) m.jobs + debt m i = _
      omega

/-- Settling loses no work and no job, and leaves nobody ready. -/
theorem settle_work (fuel : Nat) : ∀ m, State m → (settle deployment fuel m).outOfFuel = false →
    work (settle deployment fuel m) = work m ∧ (∀ j ∈ m.jobs, j ∈ (settle deployment fuel m).jobs) ∧
      (settle deployment fuel m).ready = [] := by
  induction fuel with
  | zero => intro m _ hf; simp [settle] at hf
  | succ fuel ih =>
    intro m h
    unfold settle
    simp only [TwoRuns.admitAll_nil (D := deployment) rfl]
    split
    · next hr => exact drain_work instantFuel m h
    · intro hf
      have h1 := h.drain setting instantFuel
      have hdf : (drain deployment instantFuel m).outOfFuel = false := by
        cases hb : (drain deployment instantFuel m).outOfFuel with
        | false => rfl
        | true => rw [(same_settle deployment fuel _).fuel hb] at hf; exact absurd hf (by simp)
      obtain ⟨d1, d2, _⟩ := drain_work instantFuel m h hdf
      obtain ⟨s1, s2, s3⟩ := ih _ h1 hf
      exact ⟨s1.trans d1, fun j hj => s2 j (d2 j hj), s3⟩

/-! ## The end of a batch -/

/-- A session that wakes brings its debt. -/
theorem wake_work (m : Machine) (i : Nat) : work (wake m i) = work m + debt m i ∧
    ∀ k, debt (wake m i) k = debt m k := by
  have hd : ∀ k, debt (wake m i) k = debt m k := by
    intro k
    have : (wake m i).at_ k = (m.modSess i fun s => { s with status := .ready }).at_ k := rfl
    unfold debt
    rw [this, at_modSess]
    split <;> rfl
  refine ⟨?_, hd⟩
  have hd' : debt (wake m i) = debt m := funext hd
  unfold work
  rw [hd']
  show sumBy (debt m) (m.ready ++ [i]) + sumBy (fun j => j.left + debt m j.owner) m.jobs = _
  rw [sumBy_append]
  simp only [sumBy]
  omega

/-- The sessions whose runs end with a batch. -/
def woken : List Entry → List Nat
  | [] => []
  | e :: es => if e.ends then e.owner :: woken es else woken es

/-- Who is woken has an entry. -/
theorem mem_woken {es : List Entry} {e : Entry} (h : e ∈ es) (he : e.ends = true) :
    e.owner ∈ woken es := by
  induction es with
  | nil => simp at h
  | cons x es ih =>
    unfold woken
    rcases List.mem_cons.mp h with rfl | h
    · simp [he]
    · split
      · exact List.mem_cons_of_mem _ (ih h)
      · exact ih h

/-- The sessions that a batch wakes bring their debts. -/
theorem applyEntries_work (es : List Entry) : ∀ m : Machine,
    work (applyEntries es m) = work m + sumBy (debt m) (woken es) := by
  induction es with
  | nil => intro m; rfl
  | cons e es ih =>
    intro m
    simp only [applyEntries, applyEntry, woken]
    split
    · obtain ⟨h1, h2⟩ := wake_work m e.owner
      rw [ih, h1, funext h2]
      simp only [sumBy]
      omega
    · exact ih m

/-- At most one job of different sessions has an entry's tokens. -/
theorem sum_owner {js : List Job} (h : DistinctOwners js) (i t : Nat) :
    sumBy (fun j : Job => if i = j.owner then t else 0) js ≤ t := by
  induction js with
  | nil => exact Nat.zero_le _
  | cons j js ih =>
    simp only [sumBy]
    by_cases hi : i = j.owner
    · have : sumBy (fun j : Job => if i = j.owner then t else 0) js = sumBy (fun _ => 0) js := by
        refine sumBy_congr fun x hx => ?_
        rw [if_neg]
        intro hx'
        exact h.1 x hx (hx' ▸ hi)
      have h0 : sumBy (fun _ : Job => 0) js = 0 := by
        clear this ih h
        induction js with
        | nil => rfl
        | cons a l ih => simp [sumBy, ih]
      rw [if_pos hi, this, h0]
      omega
    · rw [if_neg hi]
      have := ih h.2
      omega

/-- The jobs of different sessions lose at most the tokens of the batch. -/
theorem sum_tokensOf {js : List Job} (h : DistinctOwners js) (batch : List Entry) :
    sumBy (fun j : Job => tokensOf j.owner batch) js ≤ sumTokens batch := by
  induction batch with
  | nil =>
    have : sumBy (fun j : Job => tokensOf j.owner []) js = 0 := by
      clear h
      induction js with
      | nil => rfl
      | cons a l ih =>
      simp only [sumBy]
      rw [ih]
      rfl
    omega
  | cons e es ih =>
    have h1 := sum_owner h e.owner e.tokens
    have h2 : sumBy (fun j : Job => tokensOf j.owner (e :: es)) js =
        sumBy (fun j : Job => if e.owner = j.owner then e.tokens else 0) js +
          sumBy (fun j : Job => tokensOf j.owner es) js := by
      clear h h1 ih
      induction js with
      | nil => rfl
      | cons a l ih =>
        simp only [sumBy]
        rw [ih]
        simp only [tokensOf]
        split <;> omega
    rw [h2]
    simp only [sumTokens]
    omega

/-- The owners of the jobs that a batch finishes. -/
def finished (batch : List Entry) : List Job → List Nat
  | [] => []
  | j :: js => if j.left - tokensOf j.owner batch = 0 then j.owner :: finished batch js
    else finished batch js

/-- Who has finished has a job. -/
theorem mem_finished {batch : List Entry} {js : List Job} {k : Nat} (h : k ∈ finished batch js) :
    ∃ j ∈ js, j.owner = k ∧ j.left - tokensOf j.owner batch = 0 := by
  induction js with
  | nil => simp [finished] at h
  | cons x js ih =>
    unfold finished at h
    split at h
    · next hx =>
      rcases List.mem_cons.mp h with rfl | h
      · exact ⟨x, by simp, rfl, hx⟩
      · obtain ⟨j, hj, h'⟩ := ih h
        exact ⟨j, by simp [hj], h'⟩
    · obtain ⟨j, hj, h'⟩ := ih h
      exact ⟨j, by simp [hj], h'⟩

/-- Nobody finishes twice. -/
theorem nodup_finished {batch : List Entry} {js : List Job} (h : DistinctOwners js) :
    (finished batch js).Nodup := by
  induction js with
  | nil => simp [finished]
  | cons x js ih =>
    unfold finished
    split
    · refine List.nodup_cons.mpr ⟨fun hx => ?_, ih h.2⟩
      obtain ⟨j, hj, hjo, _⟩ := mem_finished hx
      exact h.1 j hj hjo
    · exact ih h.2

/-- What a batch takes of the jobs is in the jobs that go on, in the batch, or owed by those who have
finished. -/
theorem sum_unfinished (f : Nat → Nat) (batch : List Entry) (js : List Job) :
    sumBy (fun j => j.left + f j.owner) js ≤
      sumBy (fun j => j.left + f j.owner) (unfinished (applyBatch batch js)) +
        sumBy f (finished batch js) + sumBy (fun j : Job => tokensOf j.owner batch) js := by
  induction js with
  | nil => exact Nat.zero_le _
  | cons j js ih =>
    simp only [applyBatch, unfinished, finished]
    split
    · simp only [sumBy]; omega
    · simp only [sumBy]; omega

/-- Every entry of the running batch gives a job no more than it has left. -/
def Within (m : Machine) : Prop :=
  ∀ e ∈ m.plan.batch, ∃ j ∈ m.jobs, j.owner = e.owner ∧ e.tokens ≤ j.left

/-- The end of an iteration loses no more work than the batch's tokens. -/
theorem endIteration_work (h : State m) (hw : Within m) :
    work m ≤ work (endIteration m) + sumTokens m.plan.batch := by
  have heq : endIteration m = applyEntries m.plan.batch { m with
      jobs := unfinished (applyBatch m.plan.batch m.jobs)
      plan := { m.plan with batch := [] }
      clock := { m.clock with iterEnd := none } } := by
    rw [TwoRuns.applyEntries_with]
    have hs := same_applyEntries m.plan.batch m
    unfold endIteration
    simp only [hs.plan, hs.clock]
  rw [heq, applyEntries_work]
  have h1 := sum_unfinished (debt m) m.plan.batch m.jobs
  have h2 := sum_tokensOf h.owners m.plan.batch
  have h3 : sumBy (debt m) (finished m.plan.batch m.jobs) ≤ sumBy (debt m) (woken m.plan.batch) := by
    refine sumBy_le_of_subset _ (nodup_finished h.owners) ?_
    intro k hk
    obtain ⟨j, hj, rfl, hz⟩ := mem_finished hk
    have hpos := (h.jobs j hj).left
    -- a job that finishes has an entry
    have hex : ∃ e ∈ m.plan.batch, e.owner = j.owner := by
      apply Classical.byContradiction
      intro hno
      rw [tokensOf_absent (fun e he heo => hno ⟨e, he, heo⟩)] at hz
      omega
    obtain ⟨e, he, heo⟩ := hex
    obtain ⟨x, hx, hxo, _, hxe, _⟩ := h.batch e he
    obtain ⟨y, hy, hyo, hyt⟩ := hw e he
    have hxj : x = j := TwoRuns.distinct_unique h.owners hx hj (hxo.trans heo)
    have hyj : y = j := TwoRuns.distinct_unique h.owners hy hj (hyo.trans heo)
    rw [← heo, TwoRuns.tokensOf_entry h.entries he] at hz
    have hends : e.ends = true := by
      rw [hxe, hxj]
      rw [hyj] at hyt
      simp only [beq_iff_eq]
      omega
    rw [← heo]
    exact mem_woken he hends
  show sumBy (debt m) m.ready + sumBy (fun j => j.left + debt m j.owner) m.jobs ≤
    sumBy (debt m) m.ready + sumBy (fun j => j.left + debt m j.owner)
      (unfinished (applyBatch m.plan.batch m.jobs)) + sumBy (debt m) (woken m.plan.batch) +
        sumTokens m.plan.batch
  omega

end Serq.Papers.Dai
