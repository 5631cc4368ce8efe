import Serq.Papers.FuelStays
import Serq.Papers.KongInstant
/-!
# Smallest Volume First: a step, and the path

After an instant has settled the engine serves everybody who has been admitted, one token each, for one unit
of time. `Struct.endIteration` says what such a step does to the sums, `Potential` what they are measured
against, and `Between.step` that every machine between events keeps it.
-/

namespace Serq.Papers.KongSvf

open KongMath

variable {q : Requests} {m m' : Machine} {i n : Nat}

/-! ## Iterations -/

/-- The entry of a request in a batch. -/
def entryOf (j : Job) : Entry := ⟨j.owner, .Decode, 1, j.left == 1, none, 0, 0⟩

/-- Who has one step left. -/
def lastStep : List Job → List Nat
  | [] => []
  | j :: js => if j.left = 1 then j.owner :: lastStep js else lastStep js

/-- The others, one step on. -/
def stepped : List Job → List Job
  | [] => []
  | j :: js => if j.left = 1 then stepped js else { j with left := j.left - 1 } :: stepped js

/-- The batch is one token for every request. -/
theorem fill_eq {cap : Nat} (js : List Job) : ∀ left, js.length ≤ left →
    (∀ j ∈ js, j.mode = .Decode ∧ 1 ≤ j.left) →
    fillBatch deployment m cap left js = js.map entryOf := by
  induction js with
  | nil => intro _ _ _; rfl
  | cons j js ih =>
    intro left hl h
    obtain ⟨h1, h2⟩ := h j (by simp)
    have hw : want cap j = 1 := by
      unfold want
      simp only [h1]
      exact if_pos h2
    simp only [List.length_cons] at hl
    have hmin : min 1 left = 1 := by omega
    unfold fillBatch
    simp only [hw, hmin, Nat.one_ne_zero, if_false, List.map_cons]
    rw [ih (left - 1) (by omega) fun x hx => h x (by simp [hx])]
    congr 1
    simp only [plainEntry, h1]
    rfl

/-- After an instant has settled the engine serves everybody who has been admitted, or nobody is
left. -/
theorem start_cases (h : Struct q 0 m) (hi : m.clock.iterEnd = none) :
    (m.jobs = [] ∧ startIteration deployment m = m) ∨
      ∃ pl ne last it se, startIteration deployment m =
        { m with
          plan := pl
          clock := { m.clock with
            iterEnd := some (m.now + 1, m.nextEvent), served := se, iters := it, last := last }
          nextEvent := ne } ∧ pl.batch = m.jobs.map entryOf := by
  have hnoq : engineQueue m deployment.pools 0 = none := rfl
  cases hj : m.jobs with
  | nil =>
    left
    refine ⟨rfl, ?_⟩
    unfold startIteration busy
    simp [hj, hnoq]
  | cons j js =>
    right
    have hb := buildBatch_eq_fill (D := deployment) rfl (chunkCap deployment m) hi
      (fun x hx => (h.jobs x hx).2.2.1) hnoq
    obtain ⟨st, _, _, hu, hc⟩ := h.pool
    have hlen : m.jobs.length ≤ 1000000 := by
      have h1 : m.jobs.length ≤ sumBy (fun j => q.peak j.owner) m.jobs := by
        refine length_le_sumBy fun x hx => ?_
        have := (h.small _ (h.jobs x hx).1.lt).2
        unfold Requests.peak
        omega
      unfold taken at hu
      omega
    have hfill : fillBatch deployment m (chunkCap deployment m) deployment.budget
        (letThrough deployment m m.jobs) = m.jobs.map entryOf := by
      rw [letThrough_all rfl]
      exact fill_eq m.jobs _ hlen fun x hx => ⟨(h.jobs x hx).2.1, (h.jobs x hx).2.2.2⟩
    rw [hfill] at hb
    have hbusy : busy deployment m = true := by unfold busy; simp [hj]
    unfold startIteration
    simp only [hbusy, if_true]
    rw [hb]
    simp only [hj, List.map_cons]
    refine ⟨_, _, _, _, _, rfl, ?_⟩
    rfl

/-- Some sessions wake. -/
def wakeAll : List Nat → Array Sess → Array Sess
  | [], a => a
  | k :: ks, a => wakeAll ks (Arr.mod a k fun s => { s with status := .ready })

/-- Waking loses no session. -/
theorem size_wakeAll (l : List Nat) (a : Array Sess) : (wakeAll l a).size = a.size := by
  induction l generalizing a with
  | nil => rfl
  | cons k l ih => simp [wakeAll, ih]

/-- Who is not woken is as before. -/
theorem at_wakeAll_other (l : List Nat) (a : Array Sess) {k : Nat} (h : k ∉ l) :
    Arr.at! (wakeAll l a) k = Arr.at! a k := by
  induction l generalizing a with
  | nil => rfl
  | cons x l ih =>
    have hx : x ≠ k := fun h' => h (by simp [h'])
    simp only [wakeAll]
    rw [ih _ fun h' => h (List.mem_cons_of_mem _ h'), Arr.at_mod, if_neg fun h' => hx h'.1]

/-- Who is woken is ready, and otherwise as before. -/
theorem at_wakeAll_mem (l : List Nat) (a : Array Sess) {k : Nat} (h : k ∈ l) (hk : k < a.size) :
    Arr.at! (wakeAll l a) k = { Arr.at! a k with status := .ready } := by
  induction l generalizing a with
  | nil => simp at h
  | cons x l ih =>
    simp only [wakeAll]
    by_cases hl : k ∈ l
    · rw [ih _ hl (by simpa using hk), Arr.at_mod]
      split <;> rfl
    · rw [at_wakeAll_other l _ hl]
      rcases List.mem_cons.mp h with rfl | h
      · rw [Arr.at_mod, if_pos ⟨rfl, hk⟩]
      · exact absurd h hl

/-- The batch takes effect: those whose run ends with it wake, in serving order. -/
theorem applyEntries_eq (js : List Job) : ∀ m : Machine, applyEntries (js.map entryOf) m =
    { m with sess := wakeAll (lastStep js) m.sess, ready := m.ready ++ lastStep js } := by
  induction js with
  | nil => intro m; simp [applyEntries, lastStep, wakeAll]
  | cons j js ih =>
    intro m
    simp only [List.map_cons, applyEntries, applyEntry, entryOf]
    by_cases h : j.left = 1
    · simp only [h, beq_self_eq_true, if_true, lastStep]
      have e := ih (wake m j.owner)
      rw [e]
      simp [wake, wakeAll, Machine.modSess]
    · have hb : (j.left == 1) = false := by simp [h]
      simp only [hb, Bool.false_eq_true, if_false, lastStep, h]
      exact ih m

/-- A job of some has one token in the batch of all of them. -/
theorem tokensOf_one {js : List Job} (hn : (js.map (·.owner)).Nodup) {j : Job} (hj : j ∈ js) :
    tokensOf j.owner (js.map entryOf) = 1 := by
  induction js with
  | nil => simp at hj
  | cons x js ih =>
    rw [List.map_cons, List.nodup_cons] at hn
    rcases List.mem_cons.mp hj with rfl | hj
    · have habs : tokensOf j.owner (js.map entryOf) = 0 := by
        refine tokensOf_absent ?_
        intro e he heo
        obtain ⟨y, hy, rfl⟩ := List.mem_map.mp he
        exact hn.1 (List.mem_map.mpr ⟨y, hy, heo⟩)
      simp [tokensOf, entryOf] at habs ⊢
      exact habs
    · have hne : ¬ x.owner = j.owner := fun h' => hn.1 (List.mem_map.mpr ⟨j, hj, h'.symm⟩)
      simp only [List.map_cons, tokensOf]
      rw [if_neg (by simpa [entryOf] using hne)]
      exact ih hn.2 hj

/-- The jobs after a batch of one token each. -/
theorem unfinished_eq {batch : List Entry} (js : List Job)
    (h : ∀ j ∈ js, tokensOf j.owner batch = 1 ∧ 1 ≤ j.left) :
    unfinished (applyBatch batch js) = stepped js := by
  induction js with
  | nil => rfl
  | cons j js ih =>
    obtain ⟨h1, h2⟩ := h j (by simp)
    have hr := ih fun x hx => h x (by simp [hx])
    simp only [applyBatch, unfinished, stepped, h1]
    by_cases hl : j.left = 1
    · simp [hl, hr]
    · have : ¬ j.left - 1 = 0 := by omega
      simp [hl, this, hr]

/-- Who has one step left has a job. -/
theorem mem_lastStep {js : List Job} {k : Nat} (h : k ∈ lastStep js) :
    ∃ j ∈ js, j.owner = k ∧ j.left = 1 := by
  induction js with
  | nil => simp [lastStep] at h
  | cons x js ih =>
    unfold lastStep at h
    split at h
    · next hx =>
      rcases List.mem_cons.mp h with rfl | h
      · exact ⟨x, by simp, rfl, hx⟩
      · obtain ⟨j, hj, h'⟩ := ih h
        exact ⟨j, by simp [hj], h'⟩
    · obtain ⟨j, hj, h'⟩ := ih h
      exact ⟨j, by simp [hj], h'⟩

/-- A job that goes on had more than one step left. -/
theorem mem_stepped {js : List Job} {y : Job} (h : y ∈ stepped js) :
    ∃ j ∈ js, y = { j with left := j.left - 1 } ∧ j.left ≠ 1 := by
  induction js with
  | nil => simp [stepped] at h
  | cons x js ih =>
    unfold stepped at h
    split at h
    · obtain ⟨j, hj, h'⟩ := ih h
      exact ⟨j, by simp [hj], h'⟩
    · next hx =>
      rcases List.mem_cons.mp h with rfl | h
      · exact ⟨x, by simp, rfl, hx⟩
      · obtain ⟨j, hj, h'⟩ := ih h
        exact ⟨j, by simp [hj], h'⟩

/-- A job whose session has not one step left goes on. -/
theorem lastStep_or_stepped {js : List Job} {j : Job} (hj : j ∈ js) (h : j.owner ∉ lastStep js) :
    ∃ y ∈ stepped js, y.owner = j.owner := by
  induction js with
  | nil => simp at hj
  | cons x js ih =>
    unfold lastStep at h
    unfold stepped
    by_cases hx : x.left = 1
    · simp only [hx, if_true, List.mem_cons, not_or] at h ⊢
      rcases List.mem_cons.mp hj with rfl | hj
      · exact absurd rfl h.1
      · exact ih hj h.2
    · simp only [hx, if_false] at h ⊢
      rcases List.mem_cons.mp hj with rfl | hj
      · exact ⟨_, List.mem_cons_self, rfl⟩
      · obtain ⟨y, hy, hyo⟩ := ih hj h
        exact ⟨y, List.mem_cons_of_mem _ hy, hyo⟩

/-- Who has one step left, in the order of the jobs. -/
theorem lastStep_sublist (js : List Job) : (lastStep js).Sublist (js.map (·.owner)) := by
  induction js with
  | nil => exact .slnil
  | cons j js ih =>
    unfold lastStep
    split
    · exact ih.cons₂ _
    · exact ih.cons _

/-- Those who go on, in the order of the jobs. -/
theorem stepped_sublist (js : List Job) :
    ((stepped js).map (·.owner)).Sublist (js.map (·.owner)) := by
  induction js with
  | nil => exact .slnil
  | cons j js ih =>
    unfold stepped
    split
    · exact ih.cons _
    · exact ih.cons₂ _

/-- Of jobs of different sessions, one session has one. -/
theorem job_unique {js : List Job} (h : (js.map (·.owner)).Nodup) {x y : Job} (hx : x ∈ js)
    (hy : y ∈ js) (he : x.owner = y.owner) : x = y := by
  induction js with
  | nil => simp at hx
  | cons j js ih =>
    rw [List.map_cons, List.nodup_cons] at h
    rcases List.mem_cons.mp hx with hxj | hxj
    · rcases List.mem_cons.mp hy with hyj | hyj
      · rw [hxj, hyj]
      · exact absurd (List.mem_map.mpr ⟨y, hyj, by rw [← he, hxj]⟩) h.1
    · rcases List.mem_cons.mp hy with hyj | hyj
      · exact absurd (List.mem_map.mpr ⟨x, hxj, by rw [he, hyj]⟩) h.1
      · exact ih h.2 hxj hyj

/-- What the jobs of a step add up to after it. -/
theorem step_sums (js : List Job) (h : ∀ j ∈ js, 1 ≤ j.left) (now : Nat) (p : Nat → Nat) :
    sumBy p (lastStep js) + sumBy (fun j => p j.owner) (stepped js) =
        sumBy (fun j => p j.owner) js ∧
      sumBy (fun j => p j.owner * j.left) (stepped js) + sumBy (fun j => p j.owner) js =
        sumBy (fun j => p j.owner * j.left) js ∧
      sumBy (fun _ => now + 1) (lastStep js) + sumBy (fun j => now + 1 + j.left) (stepped js) =
        sumBy (fun j => now + j.left) js := by
  induction js with
  | nil => simp [lastStep, stepped, sumBy]
  | cons j js ih =>
    obtain ⟨h1, h2, h3⟩ := ih fun x hx => h x (by simp [hx])
    have hj := h j (by simp)
    unfold lastStep stepped
    by_cases hl : j.left = 1
    · simp only [hl, if_true, sumBy, Nat.mul_one]
      omega
    · simp only [hl, if_false, sumBy]
      have e : p j.owner * j.left = p j.owner * (j.left - 1) + p j.owner := by
        conv => lhs; rw [show j.left = j.left - 1 + 1 by omega]
        rw [Nat.mul_add, Nat.mul_one]
      omega

/-- The end of an iteration: time has gone on by one step, and so have all who have been admitted. -/
theorem Struct.endIteration {t : Nat} (h : Struct q 0 m) (hr : m.ready = [])
    (hb : m.plan.batch = m.jobs.map entryOf) (ht : t = m.now + 1) (hblock : Blocked m)
    {M : Machine} (hM : M = handle deployment t .iterEnd m) :
    Struct q 0 M ∧ M.clock.iterEnd = none ∧ total M 2 + due q M = total m 2 + due q m + (que m).length ∧
      17501 * (que m).length + burden q M ≤ burden q m ∧ total M 0 = total m 0 ∧
      values M 1 = values m 1 ∧ owed q M + sumBy (fun j => q.peak j.owner) m.jobs = owed q m ∧
      ∀ x, Home x m → Home x M := by
  have hjobs := unfinished_eq (batch := m.jobs.map entryOf) m.jobs
    fun j hj => ⟨tokensOf_one h.jobsOnce hj, (h.jobs j hj).2.2.2⟩
  have heq : M = { m with
      sess := wakeAll (lastStep m.jobs) m.sess
      ready := lastStep m.jobs
      jobs := stepped m.jobs
      plan := { m.plan with batch := [] }
      clock := { m.clock with now := t, iterEnd := none } } := by
    rw [hM]
    unfold handle
    simp only [Serq.endIteration, hb, hjobs, applyEntries_eq, hr, List.nil_append]
  have hMr : M.ready = lastStep m.jobs := by rw [heq]
  have hMj : M.jobs = stepped m.jobs := by rw [heq]
  have hMo : M.obs = m.obs := by rw [heq]
  have hMp : M.pools = m.pools := by rw [heq]
  have hMq : que M = que m := by simp [que, Machine.pool, hMp]
  have hMn : M.now = m.now + 1 := by rw [heq]; exact ht
  have hMs : M.sess.size = m.sess.size := by rw [heq]; exact size_wakeAll _ _
  have hother : ∀ k, k ∉ lastStep m.jobs → M.at_ k = m.at_ k := fun k hk => by
    rw [heq]; exact at_wakeAll_other _ _ hk
  have hwoken : ∀ k, k ∈ lastStep m.jobs → M.at_ k = { m.at_ k with status := .ready } := by
    intro k hk
    obtain ⟨j, hj, rfl, _⟩ := mem_lastStep hk
    rw [heq]; exact at_wakeAll_mem _ _ hk (h.jobs j hj).1.lt
  have hleft : ∀ k ∈ lastStep m.jobs, left q M k = 0 := by
    intro k hk
    obtain ⟨j, hj, rfl, _⟩ := mem_lastStep hk
    simp [left, hwoken _ hk, (h.jobs j hj).1.prog]
  obtain ⟨s1, s2, s3⟩ := step_sums m.jobs (fun j hj => (h.jobs j hj).2.2.2) m.now q.peak
  have hwork : work q M + sumBy (fun j => q.peak j.owner) m.jobs = work q m := by
    have e1 : sumBy (fun k => q.peak k * left q M k) (lastStep m.jobs) = 0 := by
      rw [sumBy_congr (g := fun _ => 0) fun k hk => by rw [hleft k hk, Nat.mul_zero]]
      generalize lastStep m.jobs = l
      induction l with
      | nil => rfl
      | cons a l ih => simp [sumBy, ih]
    unfold work
    rw [hMr, hMj, e1, hr]
    simp only [sumBy]
    omega
  have htaken : taken q M = taken q m := by
    unfold taken
    rw [hMr, hMj, hr, s1]
    simp [sumBy]
  obtain ⟨st, hpool, hent, hused, hcap⟩ := h.pool
  refine ⟨⟨by rw [hMs]; exact h.small, ⟨st, by rw [hMp]; exact hpool, hent, by rw [htaken]; exact hused,
    hcap⟩, ?_, ?_, ?_, ?_, ?_, ?_, ?_, ?_⟩, by rw [heq], ?_, ?_, ?_, ?_, ?_, ?_⟩
  · intro k hk
    rw [hMr] at hk
    have ha := hwoken k hk
    obtain ⟨j, hj, rfl, _⟩ := mem_lastStep hk
    have hrun := (h.jobs j hj).1
    exact ⟨by rw [hMs]; exact hrun.lt, by rw [ha], by rw [ha]; exact hrun.stack,
      Or.inr (by rw [ha]; exact hrun.prog), by rw [ha]; exact hrun.brings⟩
  · intro k hk
    rw [hMq] at hk
    refine (h.queue k hk).keep (hother k fun h' => ?_) hMs
    obtain ⟨j, hj, rfl, _⟩ := mem_lastStep h'
    have h1 := (h.jobs j hj).1.status
    rw [(h.queue _ hk).status] at h1
    simp at h1
  · intro y hy
    rw [hMj] at hy
    obtain ⟨j, hj, rfl, hne⟩ := mem_stepped hy
    obtain ⟨g1, g2, g3, g4⟩ := h.jobs j hj
    refine ⟨g1.keep (hother _ fun h' => ?_) hMs, g2, g3, by simp only; omega⟩
    obtain ⟨x, hx, hxo, hx1⟩ := mem_lastStep h'
    have := job_unique h.jobsOnce hx hj hxo
    rw [this] at hx1
    exact hne hx1
  · rw [hMr]; exact h.jobsOnce.sublist (lastStep_sublist _)
  · rw [hMq]; exact h.queueOnce
  · rw [hMj]; exact h.jobsOnce.sublist (stepped_sublist _)
  · rw [heq]; exact h.dues
  · rw [heq]; exact h.arrival
  · have e1 : sumBy (fun k => M.now + left q M k) (lastStep m.jobs) =
        sumBy (fun _ => m.now + 1) (lastStep m.jobs) :=
      sumBy_congr fun k hk => by rw [hleft k hk, hMn, Nat.add_zero]
    have e2 : sumBy (fun k => m.now + 1 + q.o k) (que m) =
        sumBy (fun k => m.now + q.o k) (que m) + (que m).length := by
      generalize que m = l
      induction l with
      | nil => rfl
      | cons a l ih => simp only [sumBy, ih, List.length_cons]; omega
    unfold due
    rw [hMr, hMj, hMq, hr, e1]
    simp only [hMn, e2, sumBy, total, values, hMo]
    omega
  · have hpk : (que m).length = 0 ∨ 17501 ≤ sumBy (fun j => q.peak j.owner) m.jobs := by
      rcases hblock with hb | hb
      · left; rw [hb]; rfl
      · right
        rw [pool_of hpool, hused] at hb
        unfold taken at hb
        rw [hr] at hb
        simp only [sumBy] at hb
        omega
    have := step_move hwork hpk
    unfold burden
    rw [hMq]
    omega
  · simp [total, values, hMo]
  · simp [values, hMo]
  · unfold owed
    rw [hMq]
    omega
  · intro x hx k hk
    rw [hMs] at hk
    rw [hMr, hMq, hMj]
    by_cases hlast : k ∈ lastStep m.jobs
    · exact Or.inr (Or.inl hlast)
    · rw [hother k hlast]
      rcases hx k hk with g | g | g | ⟨j, g, go⟩ | g
      · exact Or.inl g
      · rw [hr] at g; simp at g
      · exact Or.inr (Or.inr (Or.inl g))
      · refine Or.inr (Or.inr (Or.inr (Or.inl ?_)))
        rw [← go] at hlast
        obtain ⟨y, hy, hyo⟩ := lastStep_or_stepped g hlast
        exact ⟨y, hy, hyo.trans go⟩
      · exact Or.inr (Or.inr (Or.inr (Or.inr g)))

/-! ## The path -/

/-- The potential: what the responses will add up to, in steps of 17 501 units of memory, and what
stands ahead of those who wait, against the outputs and what stood ahead of everybody; `n` requests have
come, and the outputs and volumes observed are theirs. -/
structure Potential (q : Requests) (n : Nat) (m : Machine) : Prop where
  outputs : total m 0 ≤ total m 2 + due q m
  bound : 17501 * (total m 2 + due q m) + burden q m ≤ 17501 * total m 0 + 2 * ahead (values m 1)
  everyOutput : total m 0 = sumBy q.o (countFrom 0 n)
  everyVolume : (values m 1).Perm ((countFrom 0 n).map q.vol)

/-- What an instant does keeps the potential. -/
theorem Potential.moves (h : Potential q n m) (g : Moves q m m') : Potential q n m' := by
  have h1 := h.outputs
  have h2 := h.bound
  have g1 := g.soon
  have g2 := g.burden
  exact ⟨by rw [g.outputs, g1]; exact h1, by rw [g.outputs, g.volumes, g1]; omega,
    g.outputs.trans h.everyOutput, by rw [g.volumes]; exact h.everyVolume⟩

/-- A machine between events: settled, and its engine running or nobody left. -/
structure Between (q : Requests) (n : Nat) (m : Machine) : Prop where
  struct : Struct q 0 m
  potential : Potential q n m
  settled : Settled m
  home : Home (fun _ => False) m
  engine : (∃ k, m.clock.iterEnd = some (m.now + 1, k) ∧ m.plan.batch = m.jobs.map entryOf) ∨
    (m.clock.iterEnd = none ∧ m.jobs = [])

/-- A settled machine without a running iteration starts one, if anybody is left. -/
theorem between_of (h : Struct q 0 m) (hp : Potential q n m) (hs : Settled m)
    (hh : Home (fun _ => False) m) (hi : m.clock.iterEnd = none) : Between q n (startIteration deployment m) := by
  rcases start_cases h hi with ⟨h1, h2⟩ | ⟨pl, ne, last, it, se, h1, h2⟩
  · rw [h2]
    exact ⟨h, hp, hs, hh, Or.inr ⟨hi, h1⟩⟩
  · rw [h1]
    have hs' : Struct q 0 { m with
        plan := pl
        clock := { m.clock with
          iterEnd := some (m.now + 1, m.nextEvent), served := se, iters := it, last := last }
        nextEvent := ne } := by
      refine ⟨h.small, h.pool, ?_, ?_, ?_, h.readyOnce, h.queueOnce, h.jobsOnce, h.dues, h.arrival⟩
      · exact fun k hk => (h.ready k hk).keep rfl rfl
      · exact fun k hk => (h.queue k hk).keep rfl rfl
      · exact fun j hj => ⟨(h.jobs j hj).1.keep rfl rfl, (h.jobs j hj).2⟩
    exact ⟨hs', ⟨hp.outputs, hp.bound, hp.everyOutput, hp.everyVolume⟩, ⟨hs.ready, hs.blocked⟩, hh, Or.inl ⟨_, rfl, h2⟩⟩

/-- Nothing but the end of an iteration is ever pending. -/
theorem nothing_pending (h : Struct q 0 m) (hi : m.clock.iterEnd = none) : nextEvent m = none := by
  simp [nextEvent, pendingIter, pendingArrival, pendingDue, hi, h.dues, h.arrival, earlier]

/-- After an event. -/
theorem between_after {x s : Machine} (hx : s = settle deployment instantFuel x)
    (h : Struct q 0 s) (hp : Potential q n s) (hs : s.outOfFuel = false → Settled s)
    (hh : Home (fun _ => False) s) (hi : x.clock.iterEnd = none) (hf : (afterEvent deployment x).outOfFuel = false) :
    Between q n (afterEvent deployment x) := by
  have hc : s.clock = x.clock := by rw [hx]; exact (same_settle deployment instantFuel x).clock
  have hi' : s.clock.iterEnd = none := by rw [hc]; exact hi
  have heq : afterEvent deployment x = startIteration deployment s := by
    unfold afterEvent
    simp only [← hx, hi', pendingNow, nothing_pending h hi', Bool.false_eq_true, if_false]
  rw [heq] at hf ⊢
  refine between_of h hp (hs ?_) hh hi'
  rw [hx]
  exact settle_of_after (by rw [heq]; exact hf)

/-- One event. -/
theorem Between.step (h : Between q n m) (hf : (step deployment m).outOfFuel = false) :
    Between q n (step deployment m) := by
  unfold Serq.step at hf ⊢
  rcases h.engine with ⟨k, hi, hb⟩ | ⟨hi, _⟩
  · have hn : nextEvent m = some (m.now + 1, k, .iterEnd) := by
      simp [nextEvent, pendingIter, pendingArrival, pendingDue, hi, h.struct.dues, h.struct.arrival,
        earlier]
    simp only [hn] at hf ⊢
    generalize hM : handle deployment (m.now + 1) .iterEnd m = M at hf ⊢
    obtain ⟨e1, e2, e3, e4, e5, e6, e7, e8⟩ := h.struct.endIteration h.settled.ready hb rfl h.settled.blocked
      hM.symm
    have hp : Potential q n M := by
      have p1 := h.potential.outputs
      have p2 := h.potential.bound
      exact ⟨by rw [e5, e3]; omega, by rw [e5, e6, e3]; omega, e5.trans h.potential.everyOutput,
        by rw [e6]; exact h.potential.everyVolume⟩
    obtain ⟨s1, s2, s3⟩ := e1.settle instantFuel M
    exact between_after rfl s1 (hp.moves s2) s3 (s2.home _ (e8 _ h.home)) e2 hf
  · simp only [nothing_pending h.struct hi] at hf ⊢
    exact h

end Serq.Papers.KongSvf
