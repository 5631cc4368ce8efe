import Serq.Papers.DaiBacklog
import Serq.Papers.FuelStays
/-!
# Sarathi-Serve's backlog: the fluid bound
-/

namespace Serq.Papers.Dai

variable {m m' : Machine}

/-- What has come is served, in the running batch or still there. -/
def Conserved (m : Machine) : Prop :=
  1280 * m.clock.arrived + sumTokens m.plan.batch ≤ m.clock.served + work m

/-- The end of the running iteration, or now. -/
def horizon (c : Clock) : Nat :=
  match c.iterEnd with
  | none => c.now
  | some (e, _) => e

/-- The requests come at multiples of 46 750. -/
structure Arrivals (c : Clock) : Prop where
  past : 46750 * c.arrived ≤ c.now
  next : ∀ t q, c.arrival = some (t, q) → t = 46750 * (c.arrived + 1)
  gaps : ∀ g ∈ c.gaps, g = 46750

/-- While an arrival is pending the tokens scheduled keep up with the time; when none is, with what has
come. -/
def Fluid (c : Clock) : Prop :=
  (c.arrival ≠ none → 1280 * horizon c ≤ 46750 * (c.served + 165120)) ∧
    (c.arrival = none → 1280 * c.arrived ≤ c.served + 165120)

/-- The state of a path, and the bounds. -/
structure Good (m : Machine) : Prop where
  state : State m
  time : TimeOk m
  within : Within m
  conserved : Conserved m
  arrivals : Arrivals m.clock
  fluid : Fluid m.clock
  claim : m.clock.iterEnd ≠ none → m.clock.last.arrived * 1280 ≤ m.clock.last.served + 165120

/-- An engine that does not run has nothing to do, or something happens now. -/
def Idle (m : Machine) : Prop :=
  m.clock.iterEnd = none → pendingNow m = true ∨ (m.jobs = [] ∧ m.ready = [])

/-- The bound follows. -/
theorem Good.backlog (h : Good m) : 1280 * m.clock.arrived ≤ m.clock.served + 165120 := by
  by_cases ha : m.clock.arrival = none
  · exact h.fluid.2 ha
  · have h1 := h.fluid.1 ha
    have h2 := h.arrivals.past
    have h3 : m.clock.now ≤ horizon m.clock := by
      unfold horizon
      split
      · exact Nat.le_refl _
      · next e q hi => exact h.time.iter e q hi
    omega

/-- Settling keeps everything, and leaves nobody ready. -/
theorem Good.settle (h : Good m) (hf : (settle deployment instantFuel m).outOfFuel = false) :
    Good (settle deployment instantFuel m) ∧ (Serq.settle deployment instantFuel m).ready = [] := by
  have hs := same_settle deployment instantFuel m
  obtain ⟨h1, h2, h3⟩ := settle_work instantFuel m h.state hf
  refine ⟨⟨h.state.settle setting _, h.time.keeps hs.toKeeps, ?_, ?_, by rw [hs.clock]; exact h.arrivals,
    by rw [hs.clock]; exact h.fluid, by rw [hs.clock]; exact h.claim⟩, h3⟩
  · intro e he
    rw [hs.plan] at he
    obtain ⟨j, hj, hj'⟩ := h.within e he
    exact ⟨j, h2 j hj, hj'⟩
  · have := h.conserved
    unfold Conserved at this ⊢
    rw [hs.clock, hs.plan, h1]
    exact this

/-- Everybody at the engine wants a token at least. -/
theorem length_le_sumWant {js : List Job} (h : ∀ j ∈ js, 0 < j.left) : js.length ≤ sumWant 0 js := by
  induction js with
  | nil => exact Nat.zero_le _
  | cons j js ih =>
    have h1 : 1 ≤ want 0 j := by
      have := h j (by simp)
      unfold want
      split
      · split <;> omega
      · simp only [if_true]; omega
    have h2 := ih fun x hx => h x (by simp [hx])
    simp only [List.length_cons, sumWant]
    omega

/-- Nobody at the engine stands for more than 1280 tokens. -/
theorem work_le (h : State m) (hr : m.ready = []) : work m ≤ 1280 * m.jobs.length := by
  have h1 : ∀ j ∈ m.jobs, j.left + debt m j.owner ≤ 1280 := by
    intro j hj
    have hjo := h.jobs j hj
    unfold debt
    rcases hjo.amount with ⟨ha, hb⟩ | ⟨ha, hb⟩
    · rcases hjo.run with ⟨_, hp⟩ | ⟨hm, _⟩
      · rw [hp]
        simp only [TwoRuns.rest3, TwoRuns.rest4, params, debtOf]
        omega
      · rw [ha] at hm; simp at hm
    · rcases hjo.run with ⟨hm, _⟩ | ⟨_, hp⟩
      · rw [ha] at hm; simp at hm
      · rw [hp]
        simp only [TwoRuns.rest4, params, debtOf]
        omega
  unfold work
  rw [hr]
  have h2 : ∀ js : List Job, (∀ j ∈ js, j.left + debt m j.owner ≤ 1280) →
      sumBy (fun j => j.left + debt m j.owner) js ≤ 1280 * js.length := by
    intro js
    induction js with
    | nil => intro _; exact Nat.zero_le _
    | cons j js ih =>
      intro hall
      have g1 := hall j (by simp)
      have g2 := ih fun x hx => hall x (by simp [hx])
      simp only [sumBy, List.length_cons]
      omega
  have := h2 m.jobs h1
  simp only [sumBy]
  omega

/-- Entries give a job no more than it has left. -/
theorem fill_within {left : Nat} {js : List Job} {e : Entry}
    (h : e ∈ fillBatch deployment m 0 left js) :
    ∃ j ∈ js, j.owner = e.owner ∧ e.tokens ≤ j.left := by
  induction js generalizing left with
  | nil => simp [fillBatch] at h
  | cons j js ih =>
    unfold fillBatch at h
    split at h
    · obtain ⟨x, hx, hx'⟩ := ih h
      exact ⟨x, by simp [hx], hx'⟩
    · rcases List.mem_cons.mp h with rfl | h
      · refine ⟨j, by simp, rfl, ?_⟩
        have : want 0 j ≤ j.left := by
          unfold want
          split
          · split <;> omega
          · simp
        simp only [plainEntry]
        omega
      · obtain ⟨x, hx, hx'⟩ := ih h
        exact ⟨x, by simp [hx], hx'⟩

/-- An iteration starts: it lasts 4675, since it has 1 to 128 tokens. -/
theorem start_eq (h : State m) (hi : m.clock.iterEnd = none) (hj : m.jobs ≠ []) :
    ∃ pl ne last it, startIteration deployment m =
      { m with
        plan := pl
        clock := { m.clock with
          iterEnd := some (m.now + 4675, m.nextEvent)
          served := m.clock.served + sumTokens pl.batch, iters := it, last := last }
        nextEvent := ne } ∧ pl.batch = fillBatch deployment m 0 128 m.jobs ∧
      last.arrived = m.clock.arrived ∧ last.served = m.clock.served := by
  have hb := buildBatch_eq_fill (D := deployment) rfl 0 hi
    (fun x hx => (h.jobs x hx).growing) (TwoRuns.no_queue rfl m)
  rw [letThrough_all rfl] at hb
  have hbud : deployment.budget = 128 := rfl
  rw [hbud] at hb
  have htok := sumTokens_fillBatch deployment m 0 128 m.jobs
  have hlen := length_le_sumWant fun j hj => (h.jobs j hj).left
  have hpos : 0 < m.jobs.length := List.length_pos_iff.mpr hj
  have hbusy : busy deployment m = true := by
    unfold busy
    cases hc : m.jobs with
    | nil => exact absurd hc hj
    | cons => rfl
  have hcap : chunkCap deployment m = 0 := rfl
  have hcost : costOf deployment (buildBatch deployment 0 m) = 4675 := by
    have hc : ∀ (r n : Nat) (s : IterStats), deployment.cost.eval (statsEnv r n s) =
        1128 + 3547 * ((s.tokens + 127) / 128) := fun _ _ _ => rfl
    have e1 : (sumTokens (fillBatch deployment m 0 128 m.jobs) + 127) / 128 = 1 := by omega
    unfold costOf
    simp only [hc, hb, statsOf_tokens, e1]
    rfl
  have hne : (buildBatch deployment 0 m).plan.batch ≠ [] := by
    rw [hb]
    simp only
    intro hnil
    rw [hnil] at htok
    simp only [sumTokens] at htok
    omega
  have hstart : startIteration deployment m =
      beginIteration deployment 0 (buildBatch deployment 0 m) := by
    unfold startIteration
    simp only [hbusy, if_true, hcap]
    split
    · next h1 _ => exact absurd h1 hne
    · rfl
  rw [hstart]
  unfold beginIteration
  rw [hcost, hb]
  simp only [statsOf_tokens]
  refine ⟨{ batch := fillBatch deployment m 0 128 m.jobs
            left := 128 - sumTokens (fillBatch deployment m 0 128 m.jobs)
            preempts := m.plan.preempts }, _, _, _, rfl, ?_⟩
  exact ⟨rfl, rfl, rfl⟩

/-- Starting an iteration keeps everything. -/
theorem Good.start (h : Good m) (hi : m.clock.iterEnd = none) (hr : m.ready = []) :
    Good (startIteration deployment m) ∧ Idle (startIteration deployment m) := by
  by_cases hj : m.jobs = []
  · have heq : startIteration deployment m = m := by
      have hq : engineQueue m deployment.pools 0 = none := rfl
      unfold startIteration busy
      simp [hj, hq]
    rw [heq]
    exact ⟨h, fun _ => Or.inr ⟨hj, hr⟩⟩
  · have hstate := h.state.startIteration setting hi (fun _ _ => trivial)
    have htime := h.time.start deployment
    obtain ⟨pl, ne, last, it, heq, hpl, ha, hs⟩ := start_eq h.state hi hj
    rw [heq] at hstate htime ⊢
    have htok := sumTokens_fillBatch deployment m 0 128 m.jobs
    have hlen := length_le_sumWant fun j hj => (h.state.jobs j hj).left
    have hback := h.backlog
    refine ⟨⟨hstate, htime, ?_, ?_, ?_, ?_, ?_⟩, fun hn => by simp at hn⟩
    · intro e he
      simp only [hpl] at he
      exact fill_within he
    · have hc := h.conserved
      have hb0 := h.state.idle hi
      unfold Conserved at hc ⊢
      rw [hb0] at hc
      simp only [sumTokens] at hc
      show 1280 * m.clock.arrived + sumTokens pl.batch ≤ m.clock.served + sumTokens pl.batch + work m
      omega
    · exact ⟨h.arrivals.past, h.arrivals.next, h.arrivals.gaps⟩
    · refine ⟨fun hne => ?_, fun hn => ?_⟩
      · simp only [horizon, hpl, htok]
        have hnow : m.now = m.clock.now := rfl
        rw [hnow]
        by_cases hfull : 128 ≤ sumWant 0 m.jobs
        · have h1 := h.fluid.1 hne
          have h2 : horizon m.clock = m.clock.now := by unfold horizon; rw [hi]
          rw [h2] at h1
          omega
        · have h1 := h.conserved
          have h2 := work_le h.state hr
          unfold Conserved at h1
          rw [h.state.idle hi] at h1
          simp only [sumTokens] at h1
          cases hc : m.clock.arrival with
          | none => exact absurd hc hne
          | some x =>
            obtain ⟨t, q⟩ := x
            have h3 := h.arrivals.next t q hc
            have h4 := h.time.arrival t q hc
            omega
      · have h1 := h.fluid.2 hn
        simp only
        omega
    · intro _
      simp only [ha, hs]
      omega

/-- After an event. -/
theorem Good.after (h : Good m) (hf : (afterEvent deployment m).outOfFuel = false) :
    Good (afterEvent deployment m) ∧ Idle (afterEvent deployment m) := by
  obtain ⟨h1, h2⟩ := h.settle (settle_of_after hf)
  unfold afterEvent
  simp only
  split
  · next x hx => exact ⟨h1, fun hn => by rw [hx] at hn; exact absurd hn (by simp)⟩
  · next hn =>
    split
    · next hp => exact ⟨h1, fun _ => Or.inl hp⟩
    · exact h1.start hn h2

/-- An event. -/
theorem Good.handle (h : Good m) (hidle : Idle m) {t q : Nat} {e : Ev}
    (hn : nextEvent m = some (t, q, e)) : Good (handle deployment t e m) := by
  have hstate := h.state.handle setting hn
  have htime := h.time.handle deployment hn
  obtain ⟨hclock, _⟩ := handle_clock deployment t e m
  obtain ⟨hk, _, harr, hit⟩ := nextEvent_le hn h.time.dues.1
  have hcon := h.conserved
  have hpast := h.arrivals.past
  unfold Conserved at hcon
  cases hk with
  | iterEnd hie =>
    have hnow := h.time.iter t q hie
    have hst0 : State { m with clock := { m.clock with now := t } } := by
      refine ⟨h.state.sess, h.state.nodup, h.state.ready, ?_, h.state.owners, h.state.dues, h.state.batch,
        h.state.entries, h.state.idle, h.state.born, h.state.coming⟩
      intro j hj
      obtain ⟨g1, g2, g3, g4, g5, g6⟩ := h.state.jobs j hj
      exact ⟨g1, g2, g3, g4, g5, g6⟩
    have hw := endIteration_work hst0 h.within
    have hw0 : work { m with clock := { m.clock with now := t } } = work m := rfl
    rw [hw0] at hw
    have hbatch : (Serq.handle deployment t .iterEnd m).plan.batch = [] := rfl
    have hc : (Serq.handle deployment t .iterEnd m).clock =
        { m.clock with now := t, iterEnd := none } := hclock
    refine ⟨hstate, htime, ?_, ?_, ?_, ?_, ?_⟩
    · intro x hx
      rw [hbatch] at hx
      simp at hx
    · unfold Conserved
      rw [hc, hbatch]
      have hw1 : work m ≤ work (Serq.handle deployment t .iterEnd m) + sumTokens m.plan.batch := hw
      simp only [sumTokens]
      omega
    · rw [hc]
      exact ⟨Nat.le_trans hpast hnow, h.arrivals.next, h.arrivals.gaps⟩
    · rw [hc]
      have h1 := h.fluid
      unfold Fluid horizon at h1 ⊢
      rw [hie] at h1
      exact h1
    · rw [hc]
      intro hne
      simp at hne
  | due d ds hd _ _ =>
    rw [h.state.dues] at hd
    simp at hd
  | arrival ha =>
    have ht := h.arrivals.next t q ha
    -- who comes
    have hlt : m.clock.arrived < m.sess.size := by
      have := h.state.coming
      unfold TwoRuns.pendingArrivals at this
      rw [ha] at this
      simp at this
      omega
    have hun : (m.at_ m.clock.arrived).status = .unborn :=
      (h.state.born _ hlt).mpr (Nat.le_refl _)
    have hdebt : debt m m.clock.arrived = 1280 := by
      have hp := (h.state.sess _ hlt).place
      rw [hun] at hp
      unfold debt
      generalize hr : Status.unborn = r at hp
      generalize hb : (m.at_ m.clock.arrived).prog = b at hp
      cases hp <;> simp at hr
      rfl
    obtain ⟨c, ne, heq⟩ : ∃ c ne, Serq.handle deployment t .arrival m =
        wake { m with clock := c, nextEvent := ne } m.clock.arrived := by
      unfold Serq.handle arrive scheduleArrival
      simp only
      split
      · exact ⟨_, _, rfl⟩
      · exact ⟨_, _, rfl⟩
    have hc : c = clockAfter t .arrival m := by
      rw [← hclock, heq]
      rfl
    have hwork : work (Serq.handle deployment t .arrival m) = work m + 1280 := by
      rw [heq, (wake_work _ _).1]
      have : debt { m with clock := c, nextEvent := ne } m.clock.arrived =
          debt m m.clock.arrived := rfl
      rw [this, hdebt]
      rfl
    have hbatch : (Serq.handle deployment t .arrival m).plan = m.plan := by rw [heq]; rfl
    have hjobs : (Serq.handle deployment t .arrival m).jobs = m.jobs := by rw [heq]; rfl
    obtain ⟨c1, c2, c3, _, c5⟩ := clockAfter_fields t .arrival m
    have c5' : (clockAfter t .arrival m).iterEnd = m.clock.iterEnd := by simpa using c5
    have c6 : (clockAfter t .arrival m).arrived = m.clock.arrived + 1 := by
      unfold clockAfter
      simp only
      split <;> rfl
    have c7 : (∀ g ∈ (clockAfter t .arrival m).gaps, g = 46750) ∧
        ∀ t' q', (clockAfter t .arrival m).arrival = some (t', q') → t' = t + 46750 := by
      have hg := h.arrivals.gaps
      unfold clockAfter
      simp only
      split
      · next hnil => simp [hnil]
      · next g gs hcons =>
        rw [hcons] at hg
        refine ⟨fun x hx => hg x (by simp [hx]), ?_⟩
        intro t' q' h'
        simp only [Option.some.injEq, Prod.mk.injEq] at h'
        rw [← h'.1, hg g (by simp)]
    have hfl := h.fluid.1 (by rw [ha]; simp)
    -- the time of an idle engine goes on only when nothing is left
    have hkey : 1280 * horizon (clockAfter t .arrival m) ≤ 46750 * (m.clock.served + 165120) ∧
        t ≤ horizon (clockAfter t .arrival m) := by
      unfold horizon at hfl ⊢
      rw [c5', c1]
      cases hie : m.clock.iterEnd with
      | some x =>
        obtain ⟨e, q'⟩ := x
        rw [hie] at hfl
        exact ⟨hfl, hit e q' hie⟩
      | none =>
        rw [hie] at hfl
        refine ⟨?_, Nat.le_refl _⟩
        simp only at hfl ⊢
        rcases hidle hie with hp | ⟨hj, hr⟩
        · have : t ≤ m.clock.now := by
            unfold pendingNow at hp
            rw [hn] at hp
            simpa using hp
          omega
        · have hz : work m = 0 := by simp [work, hj, hr, sumBy]
          rw [hz, h.state.idle hie] at hcon
          simp only [sumTokens] at hcon
          omega
    refine ⟨hstate, htime, ?_, ?_, ?_, ?_, ?_⟩
    · unfold Within
      rw [hbatch, hjobs]
      exact h.within
    · unfold Conserved
      rw [hclock, hbatch, hwork, c6, c2]
      omega
    · rw [hclock]
      refine ⟨by rw [c6, c1, ht]; exact Nat.le_refl _, ?_, c7.1⟩
      intro t' q' h'
      rw [c7.2 t' q' h', c6, ht]
      omega
    · rw [hclock]
      refine ⟨fun _ => by rw [c2]; exact hkey.1, fun _ => ?_⟩
      rw [c6, c2]
      have := hkey.2
      have := hkey.1
      omega
    · rw [hclock, c5', c3]
      exact h.claim

/-- Before anything has happened. -/
theorem Good.initial {w : Workload} (ht : w.turns = [])
    (hg : w.gaps = some (List.replicate w.init.length 46750)) :
    Good (initial deployment w prog) := by
  have hstate : State (Serq.initial deployment w prog) :=
    TwoRuns.Inv.initial (p := params) ht hg (fun _ _ => trivial)
  have htime := TimeOk.initial deployment w prog
  obtain ⟨h1, h2, h3, h4, h5, h6, _⟩ := initial_idle deployment w prog
  have harr : (Serq.initial deployment w prog).clock.arrived = 0 ∧
      (∀ t q, (Serq.initial deployment w prog).clock.arrival = some (t, q) → t = 46750) ∧
      ∀ g ∈ (Serq.initial deployment w prog).clock.gaps, g = 46750 := by
    have hall : ∀ g ∈ (List.replicate w.init.length 46750).take w.init.length, g = 46750 := by
      intro g hgm
      exact (List.mem_replicate.mp (List.mem_of_mem_take hgm)).2
    unfold Serq.initial
    simp only [hg]
    unfold scheduleArrival
    split
    · next hnil =>
      refine ⟨rfl, fun t q h => by simp at h, ?_⟩
      intro g hgm
      exact hall g hgm
    · next g gs hcons =>
      simp only at hcons
      rw [hcons] at hall
      refine ⟨rfl, ?_, fun x hx => hall x (by simp [hx])⟩
      intro t q h
      simp only [Option.some.injEq, Prod.mk.injEq] at h
      rw [← h.1, hall g (by simp)]
      rfl
  refine ⟨hstate, htime, ?_, ?_, ⟨?_, ?_, harr.2.2⟩, ⟨fun _ => ?_, fun _ => ?_⟩, ?_⟩
  · intro e he
    rw [h6] at he
    simp at he
  · unfold Conserved
    rw [h6, harr.1]
    simp [sumTokens]
  · rw [harr.1]; simp
  · intro t q h
    rw [harr.2.1 t q h, harr.1]
  · unfold horizon
    rw [h3]
    simp only [h1]
    omega
  · rw [harr.1]; simp
  · intro hne
    exact absurd h3 hne

/-- Every machine of a path whose fuel has not run out. -/
theorem good_reach {w : Workload} (ht : w.turns = [])
    (hg : w.gaps = some (List.replicate w.init.length 46750)) {m : Machine}
    (hm : Reach deployment w prog m) : m.outOfFuel = false → Good m ∧ Idle m := by
  induction hm with
  | start => exact (Good.initial ht hg).after
  | @step m _ ih =>
    intro hf
    obtain ⟨g1, g2⟩ := ih (fuel_of_step hf)
    unfold step at hf ⊢
    split at hf
    · exact ⟨g1, g2⟩
    · next t q e hn => exact (g1.handle g2 hn).after hf

end Serq.Papers.Dai
