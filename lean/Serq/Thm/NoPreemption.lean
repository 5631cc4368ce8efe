import Serq.Thm.PeakPath
/-!
# Where every slot's peak fits: no request is ever preempted

On every path of such a program (`Peak.Setting`, `Peak.Ok`), on every workload that starts within the
bounds, whenever requests arrive and however the budget is spent.
-/

namespace Serq.Peak

open TwoRuns

variable {D : Deployment} {P : Params}

/-- Less is owed. -/
theorem SessOk.mono {d d' : Nat} {s : Sess} (h : SessOk D P d s) (hd : d' ≤ d) : SessOk D P d' s := by
  refine ⟨h.turns, h.attrs, ?_⟩
  rcases h.place with hp | ⟨r, k, u, x, h1, h2, h3, h4, h5, h6, h7⟩
  · exact Or.inl hp
  · exact Or.inr ⟨r, k, u, x, h1, h2, h3, h4, h5, h6, by omega⟩

/-! ## A batch -/

/-- Serving residents without tokens so far. -/
theorem Inv.serveAll (hS : Setting D P) {m : Machine} (h : Inv D P m) (cap fuel : Nat)
    {todo : List Job} (hsub : ∀ j ∈ todo, j ∈ m.jobs) (hd : DistinctOwners todo)
    (hnew : ∀ j ∈ todo, ∀ e ∈ m.plan.batch, e.owner ≠ j.owner) :
    Inv D P (serveAll D cap fuel todo m) := by
  induction fuel generalizing todo m with
  | zero => exact h
  | succ fuel ih =>
    cases todo with
    | nil => exact h
    | cons j rest =>
      unfold Serq.serveAll
      simp only [nextJob, hS.serve]
      obtain ⟨h1, h2, h3, h4⟩ := h.serveJob hS (hsub j (by simp)) (hnew j (by simp)) cap
      split
      · next m' heq => rw [heq] at h1; exact h1
      · next m' heq =>
        rw [heq] at h1 h2 h4
        split
        · exact h1
        · refine ih h1 (fun x hx => ?_) hd.2 (fun x hx e he => ?_)
          · rw [h2]; exact hsub x (by simp [hx])
          · rcases h4 e he with he' | he'
            · exact hnew x (by simp [hx]) e he'
            · rw [he']; exact fun h' => hd.1 x hx h'.symm

/-- The job that is found is the session's. -/
theorem findJob_some {i : Nat} {js : List Job} {j : Job} (h : findJob i js = some j) :
    j ∈ js ∧ j.owner = i := by
  induction js with
  | nil => simp [findJob] at h
  | cons x js ih =>
    unfold findJob at h
    split at h
    · next hx => simp at h; subst h; exact ⟨by simp, hx⟩
    · exact ⟨by simp [(ih h).1], (ih h).2⟩

/-- Admitting the next of a queue in an iteration. -/
theorem Inv.admitNext (hS : Setting D P) {m : Machine} (h : Inv D P m) (cap : Nat) {p i : Nat}
    (hin : i ∈ (m.pool p).queue) (hfit : fits D m i m.plan.left = true) :
    Inv D P (admitNext D cap p i m) := by
  have hp : p = P.slots := by
    by_cases hp : p = P.slots
    · exact hp
    · rw [h.others p hp] at hin; simp at hin
  have hs := h.queued i (hp ▸ hin)
  have hbatch : ∀ e ∈ m.plan.batch, e.owner ≠ i := by
    intro e he heo
    obtain ⟨j, hj, hjo, _⟩ := h.batch e he
    have := (h.jobs j hj).2.1
    rw [hjo, heo, hs] at this
    exact absurd this (by simp)
  have h1 := h.admit hS m.plan.left hin hfit
  have hsame := same_admit D m p i m.plan.left
  unfold Serq.admitNext
  simp only
  generalize hm1 : Serq.admit D m p i m.plan.left = m1 at h1 hsame ⊢
  have h2 : Inv D P { m1 with plan := { m1.plan with
      entered := m1.plan.entered ++ [(i, Arr.at! (m1.at_ i).attrs D.slotCached)] } } :=
    ⟨h1.sess, h1.jobs, h1.owners, h1.batch, h1.entries, h1.nodup, h1.queued, h1.others, h1.born,
      h1.lens, h1.used, h1.taken, h1.cap, h1.calm, h1.kept, h1.last⟩
  have h3 := h2.drain hS instantFuel
  have hplan := (same_drain D instantFuel { m1 with plan := { m1.plan with
      entered := m1.plan.entered ++ [(i, Arr.at! (m1.at_ i).attrs D.slotCached)] } }).plan
  split
  · exact h3
  · next j hj =>
    obtain ⟨g1, g2⟩ := findJob_some hj
    refine (h3.serveJob hS g1 ?_ cap).1
    intro e he
    rw [hplan] at he
    have he' : e ∈ m1.plan.batch := he
    rw [hsame.plan] at he'
    rw [g2]
    exact hbatch e he'

/-- Admitting from the queues that the engine serves. -/
theorem Inv.admitWaiting (hS : Setting D P) {m : Machine} (h : Inv D P m) (cap fuel : Nat) :
    Inv D P (admitWaiting D cap fuel m) := by
  induction fuel generalizing m with
  | zero => exact h.of_eq rfl rfl rfl rfl rfl
  | succ fuel ih =>
    unfold Serq.admitWaiting
    split
    · exact h
    · split
      · exact h
      · split
        · exact h
        · split
          · exact h
          · next hsel =>
            split
            · next hf => exact ih (h.admitNext hS cap (selected_mem hS h hsel) hf)
            · exact h

/-- Building the batch of an iteration that starts. -/
theorem Inv.buildBatch (hS : Setting D P) {m : Machine} (h : Inv D P m) (hb : m.plan.batch = [])
    (cap : Nat) : Inv D P (buildBatch D cap m) := by
  unfold Serq.buildBatch
  simp only
  have h0 : Inv D P { m with plan :=
      { batch := [], left := D.budget, victims := [], entered := [], preempts := m.plan.preempts } } := by
    refine ⟨fun i => ?_, h.jobs, h.owners, by simp, trivial, h.nodup, h.queued, h.others, h.born,
      h.lens, h.used, h.taken, h.cap, h.calm, rfl, h.last⟩
    have := h.sess i
    unfold debt at this
    rw [hb] at this
    exact this
  exact (h0.serveAll hS cap m.jobs.length (todo := m.jobs) (fun j hj => hj) h.owners
    (by simp)).admitWaiting hS cap _

/-- While no iteration runs the batch is empty. -/
def Idle (m : Machine) : Prop := m.clock.iterEnd = none → m.plan.batch = []

/-- Starting an iteration. -/
theorem Inv.startIteration (hS : Setting D P) {m : Machine} (h : Inv D P m)
    (hi : m.clock.iterEnd = none) (hb : Idle m) :
    Inv D P (startIteration D m) ∧ Idle (startIteration D m) := by
  have h1 := h.buildBatch hS (hb hi) (chunkCap D m)
  rcases startIteration_cases D m with hs | ⟨hs, hnil, _⟩ | hs <;> rw [hs]
  · exact ⟨h, hb⟩
  · exact ⟨h1, fun _ => hnil⟩
  · refine ⟨?_, fun hn => by simp [beginIteration] at hn⟩
    exact ⟨h1.sess, h1.jobs, h1.owners, h1.batch, h1.entries, h1.nodup, h1.queued, h1.others,
      h1.born, h1.lens, h1.used, h1.taken, h1.cap, h1.calm, h1.kept, h1.calm⟩

/-! ## Events -/

/-- The clock goes on, and no fewer sessions have arrived. -/
theorem Inv.clock {m : Machine} (h : Inv D P m) (c : Clock) (n : Nat)
    (hc : m.clock.arrived ≤ c.arrived) (hl : c.last.preempts = 0) :
    Inv D P { m with clock := c, nextEvent := n } :=
  ⟨h.sess, h.jobs, h.owners, h.batch, h.entries, h.nodup, h.queued, h.others,
    fun i hi hle => h.born i hi (Nat.le_trans hc hle), h.lens, h.used, h.taken, h.cap, h.calm, h.kept,
    hl⟩

/-- A session that has no job and waits nowhere wakes. -/
theorem Inv.wake {m : Machine} (h : Inv D P m) {i : Nat} (hj : ∀ j ∈ m.jobs, j.owner ≠ i)
    (hq : (m.at_ i).status ≠ .queued) (ha : ¬ m.clock.arrived ≤ i) : Inv D P (wake m i) := by
  have hso := h.sess i
  exact (h.modSess i (fun s => { s with status := .ready }) ⟨hso.turns, hso.attrs, hso.place⟩ rfl
    (fun j hj' he => absurd he (hj j hj')) (fun hi => absurd (h.queued i hi) hq)
    (fun hle => absurd hle ha)).of_eq rfl rfl rfl rfl rfl

/-- An arrival. -/
theorem Inv.arrive {m : Machine} (h : Inv D P m) : Inv D P (arrive m) := by
  have hst : (m.at_ m.clock.arrived).status = .unborn ∨ (m.at_ m.clock.arrived).status = .ended := by
    by_cases hi : m.clock.arrived < m.sess.size
    · exact Or.inl (h.born _ hi (Nat.le_refl _))
    · refine Or.inr ?_
      have : m.at_ m.clock.arrived = default := by
        unfold Machine.at_ Arr.at!
        rw [Lst.nth_eq_getD, List.getD_eq_getElem?_getD,
          List.getElem?_eq_none (by simpa using Nat.le_of_not_lt hi)]
        rfl
      rw [this]
      rfl
  have hj : ∀ j ∈ m.jobs, j.owner ≠ m.clock.arrived := by
    intro j hj he
    have := (h.jobs j hj).2.1
    rw [he] at this
    rcases hst with hst | hst <;> rw [hst] at this <;> exact absurd this (by simp)
  have hq : (m.at_ m.clock.arrived).status ≠ .queued := by
    rcases hst with hst | hst <;> rw [hst] <;> simp
  have key : ∀ (c : Clock) (n : Nat), c.arrived = m.clock.arrived + 1 → c.last = m.clock.last →
      Inv D P (Serq.wake { m with clock := c, nextEvent := n } m.clock.arrived) := by
    intro c n hc hl
    exact (h.clock c n (by omega) (by rw [hl]; exact h.last)).wake hj hq
      (by show ¬ c.arrived ≤ _; omega)
  unfold Serq.arrive scheduleArrival
  simp only
  split
  · exact key _ m.nextEvent rfl rfl
  · exact key _ (m.nextEvent + 1) rfl rfl

/-- The end of a service. -/
theorem Inv.endService (hS : Setting D P) {m : Machine} (h : Inv D P m) (d : Due) :
    Inv D P (endService D m d) := by
  have hfree : freeServer D m d.stage = m := by
    unfold freeServer
    split
    · next c hc => exact absurd hc (hS.fifo _ c)
    · rfl
  unfold Serq.endService
  simp only [hfree]
  split
  · next hst =>
    have hi : d.owner < m.sess.size := by
      apply Nat.lt_of_not_le
      intro hle
      have : m.at_ d.owner = default := by
        unfold Machine.at_ Arr.at!
        rw [Lst.nth_eq_getD, List.getD_eq_getElem?_getD, List.getElem?_eq_none (by simpa using hle)]
        rfl
      have hend : (default : Sess).status = .ended := rfl
      rw [this, hend] at hst
      exact absurd hst (by simp)
    obtain ⟨f1, _, f3⟩ := h.free (i := d.owner) (by rw [hst]; simp) (by rw [hst]; simp)
      (by rw [hst]; simp) hi
    exact h.wake f1 (by rw [hst]; simp) f3
  · exact h

/-- What a session has left of its job after the batch. -/
theorem leftOf_unfinished (i : Nat) (b : List Entry) {js : List Job} (h : DistinctOwners js) :
    leftOf i (unfinished (applyBatch b js)) ≤ leftOf i js - tokensOf i b := by
  induction js with
  | nil => simp [applyBatch, unfinished, leftOf]
  | cons x js ih =>
    have habsent : x.owner = i → leftOf i js = 0 ∧ leftOf i (unfinished (applyBatch b js)) = 0 := by
      intro hx
      refine ⟨leftOf_absent fun y hy => hx ▸ h.1 y hy, leftOf_absent fun y hy => ?_⟩
      obtain ⟨z, hz, rfl, _⟩ := mem_unfinished hy
      exact hx ▸ h.1 z hz
    unfold applyBatch unfinished
    by_cases hx : x.owner = i
    · obtain ⟨a1, a2⟩ := habsent hx
      split
      · rw [a2]; exact Nat.zero_le _
      · simp only [leftOf, hx, if_true, a1, a2]
        omega
    · split
      · have := ih h.2
        simp only [leftOf, hx, if_false]
        exact this
      · have := ih h.2
        simp only [leftOf, hx, if_false]
        exact this

/-- The end of an iteration. -/
theorem Inv.endIteration {m : Machine} (h : Inv D P m) :
    Inv D P (endIteration m) ∧ Idle (endIteration m) := by
  have hidle : Idle (Serq.endIteration m) := fun _ => rfl
  refine ⟨?_, hidle⟩
  have heq : Serq.endIteration m = applyEntries m.plan.batch { m with
      jobs := unfinished (applyBatch m.plan.batch m.jobs)
      plan := { m.plan with batch := [] }
      clock := { m.clock with iterEnd := none } } := by
    rw [applyEntries_with]
    have hs := same_applyEntries m.plan.batch m
    unfold Serq.endIteration
    simp only [hs.plan, hs.clock]
  have h0 : Inv D P { m with
      jobs := unfinished (applyBatch m.plan.batch m.jobs)
      plan := { m.plan with batch := [] }
      clock := { m.clock with iterEnd := none } } := by
    refine ⟨fun i => ?_, fun j hj => ?_, distinct_unfinished h.owners, by simp, trivial, h.nodup,
      h.queued, h.others, h.born, h.lens, h.used, h.taken, h.cap, h.calm, h.kept, h.last⟩
    · exact (h.sess i).mono (leftOf_unfinished i m.plan.batch h.owners)
    · obtain ⟨x, hx, rfl, _⟩ := mem_unfinished hj
      exact h.jobs x hx
  rw [heq]
  have hwake : ∀ (es : List Entry) (x : Machine), Inv D P x → DistinctEntries es →
      (∀ e ∈ es, e.ends = true → (x.at_ e.owner).status = .engine ∧
        e.owner < x.sess.size ∧ ∀ j ∈ x.jobs, j.owner ≠ e.owner) →
      Inv D P (applyEntries es x) := by
    intro es
    induction es with
    | nil => intro x hx _ _; exact hx
    | cons e es ih =>
      intro x hx hd hall
      unfold applyEntries applyEntry
      split
      · next hends =>
        obtain ⟨g1, g2, g3⟩ := hall e (by simp) hends
        obtain ⟨_, _, f3⟩ : (∀ j ∈ x.jobs, j.owner ≠ e.owner) ∧ True ∧
            ¬ x.clock.arrived ≤ e.owner :=
          ⟨g3, trivial, fun hle => by
            have := hx.born _ g2 hle
            rw [g1] at this
            exact absurd this (by simp)⟩
        refine ih _ (hx.wake g3 (by rw [g1]; simp) f3) hd.2 ?_
        intro e' he' hends'
        obtain ⟨k1, k2, k3⟩ := hall e' (by simp [he']) hends'
        have hne : e.owner ≠ e'.owner := fun h' => hd.1 e' he' h'.symm
        refine ⟨?_, by simpa [Serq.wake, Machine.modSess] using k2, k3⟩
        have : (Serq.wake x e.owner).at_ e'.owner =
            (x.modSess e.owner fun s => { s with status := .ready }).at_ e'.owner := rfl
        rw [this, at_mod_other hne]
        exact k1
      · exact ih x hx hd.2 fun e' he' => hall e' (by simp [he'])
  refine hwake m.plan.batch _ h0 h.entries ?_
  intro e he hends
  obtain ⟨y, hy, hyo, hle, hye⟩ := h.batch e he
  obtain ⟨h1, h2, _⟩ := h.jobs y hy
  refine ⟨hyo ▸ h2, hyo ▸ h1, ?_⟩
  intro j hj hjo
  obtain ⟨x, hx, rfl, hne⟩ := mem_unfinished hj
  have hxy : x = y := distinct_unique h.owners hx hy (hjo.trans hyo.symm)
  subst hxy
  simp only at hne
  rw [hyo, tokensOf_entry h.entries he] at hne
  have := hye hends
  omega

/-- An event. -/
theorem Inv.handle (hS : Setting D P) {m : Machine} (h : Inv D P m) (hb : Idle m) (t : Nat) (e : Ev) :
    Inv D P (handle D t e m) ∧ Idle (handle D t e m) := by
  have h0 : Inv D P { m with clock := { m.clock with now := t } } :=
    h.clock { m.clock with now := t } m.nextEvent (Nat.le_refl _) h.last
  have hb0 : Idle { m with clock := { m.clock with now := t } } := hb
  unfold Serq.handle
  cases e with
  | iterEnd => exact h0.endIteration
  | arrival =>
    refine ⟨h0.arrive, ?_⟩
    unfold Idle Serq.arrive scheduleArrival
    simp only
    split <;> exact hb
  | due =>
    simp only
    split
    · exact ⟨h0, hb0⟩
    · next d ds _ =>
      have h1 : Inv D P { m with clock := { m.clock with now := t }, dues := ds } :=
        h0.of_eq rfl rfl rfl rfl rfl
      refine ⟨h1.endService hS d, ?_⟩
      have hfree : freeServer D { m with clock := { m.clock with now := t }, dues := ds } d.stage =
          { m with clock := { m.clock with now := t }, dues := ds } := by
        unfold freeServer
        split
        · next c hc => exact absurd hc (hS.fifo _ c)
        · rfl
      unfold Idle Serq.endService
      simp only [hfree]
      split <;> exact hb

/-! ## The start -/

/-- Before anything has happened. -/
theorem Inv.initial {w : Workload} {prog : Block} (hok : Ok D P false prog) (ht : w.turns = [])
    (hA : ∀ i, i < w.init.length →
      Bounded P.bound (assign (Lst.nth [] w.init i) (Arr.put #[] D.slotSerial i))) :
    Inv D P (initial D w prog) ∧ Idle (initial D w prog) := by
  have hcase : ∀ (m : Machine) (status : Status),
      m.sess = ⟨newSessions D prog status 0 w.init w.turns⟩ → m.jobs = [] → m.plan = {} →
      m.pools = (D.pools.map fun _ => ({} : PoolSt)) → m.clock.last = {} →
      (status = .unborn ∨ m.clock.arrived = w.init.length) → Inv D P m ∧ Idle m := by
    intro m status hs hj hp hpo hc hborn
    have hpool : ∀ p, m.pool p = {} := fun p => by
      unfold Machine.pool
      rw [hpo]
      exact nth_map_empty p D.pools
    have hsz : m.sess.size = w.init.length := by
      rw [hs]
      simp [newSessions_length]
    have hat : ∀ i, i < w.init.length → m.at_ i =
        newSess D prog i (Lst.nth [] w.init i) none status := by
      intro i hi
      unfold Machine.at_ Arr.at!
      rw [hs, ht]
      simpa using newSessions_nth D prog status 0 w.init hi
    have hout : ∀ i, ¬ i < w.init.length → m.at_ i = default := by
      intro i hi
      unfold Machine.at_ Arr.at!
      rw [Lst.nth_eq_getD, List.getD_eq_getElem?_getD, List.getElem?_eq_none]
      · rfl
      · have : m.sess.toList.length = m.sess.size := by simp
        omega
    have hheld : ∀ p, heldTotal p m = 0 := by
      intro p
      unfold heldTotal
      rw [hs]
      simp [sumHeld_new]
    refine ⟨⟨fun i => ?_, by rw [hj]; simp, by rw [hj]; trivial, by rw [hp]; simp,
      by rw [hp]; trivial, by rw [hpool]; simp, by rw [hpool]; simp, fun p _ => by rw [hpool],
      fun i hi hle => ?_, by rw [hpo]; simp, by rw [hpool]; exact Nat.zero_le _,
      by rw [hheld]; exact Nat.zero_le _, by rw [hpool]; exact Nat.zero_le _, by rw [hp], by rw [hp],
      by rw [hc]⟩, fun _ => by rw [hp]⟩
    · by_cases hi : i < w.init.length
      · rw [hat i hi]
        exact ⟨rfl, hA i hi, Or.inl ⟨rfl, hok⟩⟩
      · rw [hout i hi]
        refine ⟨rfl, fun s x _ => ?_, Or.inl ⟨rfl, trivial⟩⟩
        show Arr.at! #[] s ≤ x
        simp [Arr.at!, Lst.nth]
    · rw [hsz] at hi
      rw [hat i hi]
      rcases hborn with hst | ha
      · exact hst
      · omega
  unfold Serq.initial
  simp only
  split
  · exact hcase _ .ready rfl rfl rfl rfl rfl (Or.inr rfl)
  · unfold scheduleArrival
    split
    · exact hcase _ .unborn rfl rfl rfl rfl rfl (Or.inl rfl)
    · exact hcase _ .unborn rfl rfl rfl rfl rfl (Or.inl rfl)

/-- On every path of such a program, at every event, the state is as it should be: memory is what the
slots hold, and nobody has been preempted. -/
theorem invariant (hS : Setting D P) {w : Workload} {prog : Block} (hok : Ok D P false prog)
    (ht : w.turns = [])
    (hA : ∀ i, i < w.init.length →
      Bounded P.bound (assign (Lst.nth [] w.init i) (Arr.put #[] D.slotSerial i)))
    {m : Machine} (hm : Reach D w prog m) : Inv D P m :=
  (reach_invariant (fun m => Inv D P m ∧ Idle m) (Inv.initial hok ht hA)
    (fun m h => ⟨h.1.settle hS _, by
      have hs := same_settle D instantFuel m
      unfold Idle
      rw [hs.plan, hs.clock]
      exact h.2⟩)
    (fun _ h hi => h.1.startIteration hS hi h.2)
    (fun _ t _ e h _ => h.1.handle hS h.2 t e) hm).1

/-- No request of such a program is ever preempted: not up to any event of any path, and so in no
record of an iteration. -/
theorem never_preempted (hS : Setting D P) {w : Workload} {prog : Block} (hok : Ok D P false prog)
    (ht : w.turns = [])
    (hA : ∀ i, i < w.init.length →
      Bounded P.bound (assign (Lst.nth [] w.init i) (Arr.put #[] D.slotSerial i)))
    {m : Machine} (hm : Reach D w prog m) :
    m.plan.preempts = 0 ∧ m.clock.last.preempts = 0 :=
  ⟨(invariant hS hok ht hA hm).calm, (invariant hS hok ht hA hm).last⟩

end Serq.Peak
