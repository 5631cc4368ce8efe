import Serq.Claim
import Serq.Thm.Frame
/-!
# Paths: time goes on, and how to prove a claim over iterations

The next event is the earliest pending one, so no machine of a path has anything pending in the past.
An invariant of the four operations of a path (start, handle, settle, start an iteration) that gives
`q` whenever an iteration starts proves that `q` holds at every iteration of every path.
-/

namespace Serq

/-! ## The next event -/

/-- Of two pending events the earlier one is taken, and neither is before it. -/
theorem earlier_le {a b : Option (Nat × Nat × Ev)} {t q : Nat} {e : Ev}
    (h : earlier a b = some (t, q, e)) :
    (a = some (t, q, e) ∨ b = some (t, q, e)) ∧ (∀ x, a = some x → t ≤ x.1) ∧
      (∀ x, b = some x → t ≤ x.1) := by
  match a, b with
  | none, none => simp [earlier] at h
  | none, some y =>
    simp only [earlier, Option.some.injEq] at h
    subst h
    simp
  | some x, none =>
    simp only [earlier, Option.some.injEq] at h
    subst h
    simp
  | some (t₁, q₁, e₁), some (t₂, q₂, e₂) =>
    simp only [earlier] at h
    split at h
    · simp only [Option.some.injEq, Prod.mk.injEq] at h
      obtain ⟨rfl, rfl, rfl⟩ := h
      refine ⟨Or.inl rfl, ?_, ?_⟩ <;> · intro x hx; cases hx; simp; try omega
    · split at h <;> simp only [Option.some.injEq, Prod.mk.injEq] at h <;>
        obtain ⟨rfl, rfl, rfl⟩ := h
      · refine ⟨Or.inl rfl, ?_, ?_⟩ <;> · intro x hx; cases hx; simp; try omega
      · refine ⟨Or.inr rfl, ?_, ?_⟩ <;> · intro x hx; cases hx; simp; try omega

/-- What the next event is. -/
inductive IsNext (m : Machine) (t q : Nat) : Ev → Prop
  | iterEnd (h : m.clock.iterEnd = some (t, q)) : IsNext m t q .iterEnd
  | arrival (h : m.clock.arrival = some (t, q)) : IsNext m t q .arrival
  | due (d : Due) (ds : List Due) (h : m.dues = d :: ds) (ht : d.time = t) (hq : d.seq = q) :
      IsNext m t q .due

/-- The next event is pending, and nothing pending is earlier. -/
theorem nextEvent_le {m : Machine} {t q : Nat} {e : Ev} (h : nextEvent m = some (t, q, e))
    (hs : SortedDues m.dues) :
    IsNext m t q e ∧ (∀ d ∈ m.dues, t ≤ d.time) ∧
      (∀ t' q', m.clock.arrival = some (t', q') → t ≤ t') ∧
      (∀ t' q', m.clock.iterEnd = some (t', q') → t ≤ t') := by
  unfold nextEvent at h
  obtain ⟨h1, h2, h3⟩ := earlier_le h
  -- the later two, when there are any
  have hrest : ∀ x, pendingArrival m = some x ∨ pendingDue m = some x → t ≤ x.1 := by
    intro x hx
    cases hr : earlier (pendingArrival m) (pendingDue m) with
    | none =>
      exfalso
      match ha : pendingArrival m, hd : pendingDue m with
      | none, none => rw [ha, hd] at hx; simp at hx
      | none, some y => rw [ha, hd] at hr; simp [earlier] at hr
      | some y, none => rw [ha, hd] at hr; simp [earlier] at hr
      | some y, some z =>
        rw [ha, hd] at hr
        simp only [earlier] at hr
        split at hr
        · simp at hr
        · split at hr <;> simp at hr
    | some y =>
      obtain ⟨t', q', e'⟩ := y
      obtain ⟨_, g2, g3⟩ := earlier_le hr
      have := h3 _ hr
      rcases hx with hx | hx
      · exact Nat.le_trans this (g2 x hx)
      · exact Nat.le_trans this (g3 x hx)
  have hiter : ∀ t' q', m.clock.iterEnd = some (t', q') → t ≤ t' := by
    intro t' q' hi
    have := h2 (t', q', .iterEnd) (by simp [pendingIter, hi])
    simpa using this
  have harr : ∀ t' q', m.clock.arrival = some (t', q') → t ≤ t' := by
    intro t' q' hi
    have := hrest (t', q', .arrival) (Or.inl (by simp [pendingArrival, hi]))
    simpa using this
  have hdue : ∀ d ∈ m.dues, t ≤ d.time := by
    intro d hd
    cases hds : m.dues with
    | nil => simp [hds] at hd
    | cons d0 ds =>
      have h0 : t ≤ d0.time := by
        have := hrest (d0.time, d0.seq, .due) (Or.inr (by simp [pendingDue, hds]))
        simpa using this
      rw [hds] at hd hs
      rcases List.mem_cons.mp hd with rfl | hd
      · exact h0
      · exact Nat.le_trans h0 (hs.1 d hd)
  refine ⟨?_, hdue, harr, hiter⟩
  rcases h1 with h1 | h1
  · unfold pendingIter at h1
    split at h1
    · simp at h1
    · next t' q' hi =>
      simp only [Option.some.injEq, Prod.mk.injEq] at h1
      obtain ⟨rfl, rfl, rfl⟩ := h1
      exact .iterEnd hi
  · rcases (earlier_le h1).1 with h1 | h1
    · unfold pendingArrival at h1
      split at h1
      · simp at h1
      · next t' q' hi =>
        simp only [Option.some.injEq, Prod.mk.injEq] at h1
        obtain ⟨rfl, rfl, rfl⟩ := h1
        exact .arrival hi
    · unfold pendingDue at h1
      split at h1
      · simp at h1
      · next d ds hi =>
        simp only [Option.some.injEq, Prod.mk.injEq] at h1
        obtain ⟨rfl, rfl, rfl⟩ := h1
        exact .due d ds hi rfl rfl

/-! ## Nothing is pending in the past -/

/-- Everything pending is now or later. -/
structure TimeOk (m : Machine) : Prop where
  dues : DuesOk m.clock.now m.dues
  arrival : ∀ t q, m.clock.arrival = some (t, q) → m.clock.now ≤ t
  iter : ∀ t q, m.clock.iterEnd = some (t, q) → m.clock.now ≤ t

/-- An operation within an instant leaves nothing pending in the past. -/
theorem TimeOk.keeps {m m' : Machine} (h : TimeOk m) (k : Keeps m m') : TimeOk m' where
  dues := by rw [k.clock]; exact k.dues h.dues
  arrival := by rw [k.clock]; exact h.arrival
  iter := by rw [k.clock]; exact h.iter

/-- What an entry of a batch does as its iteration ends leaves the clock alone. -/
theorem same_applyEntries (es : List Entry) (m : Machine) : Same m (applyEntries es m) := by
  induction es generalizing m with
  | nil => exact Same.refl m
  | cons e es ih =>
    refine Same.trans ?_ (ih _)
    unfold applyEntry
    split
    · exact same_wake _ _
    · exact Same.refl m

/-- The clock after the event `e` at time `t`. -/
def clockAfter (t : Nat) (e : Ev) (m : Machine) : Clock :=
  match e with
  | .iterEnd => { m.clock with now := t, iterEnd := none }
  | .due => { m.clock with now := t }
  | .arrival => match m.clock.gaps with
    | [] => { m.clock with now := t, arrival := none, arrived := m.clock.arrived + 1 }
    | g :: gs =>
      { m.clock with
        now := t, arrival := some (t + g, m.nextEvent), gaps := gs
        arrived := m.clock.arrived + 1 }

/-- An event sets the clock to its time; the record and what has been served stay, and only the end of
the running iteration ends it. -/
theorem clockAfter_fields (t : Nat) (e : Ev) (m : Machine) :
    (clockAfter t e m).now = t ∧ (clockAfter t e m).served = m.clock.served ∧
    (clockAfter t e m).last = m.clock.last ∧ (clockAfter t e m).iters = m.clock.iters ∧
    (clockAfter t e m).iterEnd = if e = .iterEnd then none else m.clock.iterEnd := by
  unfold clockAfter
  cases e with
  | iterEnd => simp
  | due => simp
  | arrival => simp only; split <;> simp

/-- A server that becomes free starts the next service no earlier than now. -/
theorem same_nextService (m : Machine) (s : Nat) : Same m (nextService m s) := by
  unfold nextService
  split
  · exact same_modStage m s _
  · exact (same_modStage m s _).trans (same_serveFor _ _ s _)

/-- The end of a service leaves the clock alone. -/
theorem same_endService (D : Deployment) (m : Machine) (d : Due) : Same m (endService D m d) := by
  have h : Same m (freeServer D m d.stage) := by
    unfold freeServer
    split
    · exact same_nextService m _
    · exact Same.refl m
  unfold endService
  simp only
  split
  · exact h.trans (same_wake _ _)
  · exact h

/-- An event changes the clock as `clockAfter` says, and never takes back that fuel ran out. -/
theorem handle_clock (D : Deployment) (t : Nat) (e : Ev) (m : Machine) :
    (handle D t e m).clock = clockAfter t e m ∧
      (m.outOfFuel = true → (handle D t e m).outOfFuel = true) := by
  unfold handle
  cases e with
  | iterEnd =>
    simp only [endIteration, clockAfter]
    have h := same_applyEntries m.plan.batch { m with clock := { m.clock with now := t } }
    exact ⟨by rw [h.clock], h.fuel⟩
  | arrival =>
    simp only [arrive, scheduleArrival, clockAfter]
    split <;> simp_all [wake, Machine.modSess, Machine.now]
  | due =>
    simp only [clockAfter]
    split
    · exact ⟨rfl, id⟩
    · next d ds hd =>
      have h := same_endService D { m with clock := { m.clock with now := t }, dues := ds } d
      exact ⟨h.clock, h.fuel⟩

/-- An event leaves nothing pending in the past. -/
theorem TimeOk.handle {m : Machine} (D : Deployment) (h : TimeOk m) {t q : Nat} {e : Ev}
    (hn : nextEvent m = some (t, q, e)) : TimeOk (handle D t e m) := by
  obtain ⟨hk, hd, ha, hi⟩ := nextEvent_le hn h.dues.1
  have hdues : DuesOk t m.dues := ⟨h.dues.1, hd⟩
  cases hk with
  | iterEnd _ =>
    have h0 : TimeOk { m with clock := { m.clock with now := t } } := ⟨hdues, ha, hi⟩
    have h1 := h0.keeps (same_applyEntries m.plan.batch _).toKeeps
    exact ⟨h1.dues, h1.arrival, by simp [Serq.handle, endIteration]⟩
  | arrival _ =>
    simp only [Serq.handle, arrive, scheduleArrival]
    split
    · exact ⟨hdues, by simp [wake, Machine.modSess], hi⟩
    · refine ⟨hdues, ?_, hi⟩
      intro t' q' h'
      simp only [wake, Machine.modSess, Option.some.injEq, Prod.mk.injEq] at h'
      obtain ⟨rfl, _⟩ := h'
      exact Nat.le_add_right _ _
  | due d ds hds _ _ =>
    have h0 : TimeOk { m with clock := { m.clock with now := t }, dues := ds } := by
      refine ⟨?_, ha, hi⟩
      rw [hds] at hdues
      exact ⟨hdues.1.2, fun x hx => hdues.2 x (by simp [hx])⟩
    simp only [Serq.handle, hds]
    exact h0.keeps (same_endService D _ d).toKeeps

/-- Where building the batch of an iteration leads, and whether it begins. -/
theorem startIteration_cases (D : Deployment) (m : Machine) :
    startIteration D m = m ∨
    (startIteration D m = buildBatch D (chunkCap D m) m ∧
      (buildBatch D (chunkCap D m) m).plan.batch = [] ∧
      (buildBatch D (chunkCap D m) m).plan.victims = []) ∨
    startIteration D m = beginIteration D (chunkCap D m) (buildBatch D (chunkCap D m) m) := by
  unfold startIteration
  split
  · simp only
    split
    · next h1 h2 => exact Or.inr (Or.inl ⟨rfl, h1, h2⟩)
    · exact Or.inr (Or.inr rfl)
  · exact Or.inl rfl

/-- Starting an iteration leaves nothing pending in the past. -/
theorem TimeOk.start {m : Machine} (D : Deployment) (h : TimeOk m) :
    TimeOk (startIteration D m) := by
  have hb := h.keeps (buildBatch_keeps D (chunkCap D m) m).1
  rcases startIteration_cases D m with hs | ⟨hs, _, _⟩ | hs <;> rw [hs]
  · exact h
  · exact hb
  · refine ⟨hb.dues, hb.arrival, ?_⟩
    intro t q hi
    simp only [beginIteration, Option.some.injEq, Prod.mk.injEq] at hi
    obtain ⟨rfl, _⟩ := hi
    exact Nat.le_add_right _ _

/-- Before anything has happened nothing has been served, no iteration runs and nobody is a resident. -/
theorem initial_idle (D : Deployment) (w : Workload) (P : Block) :
    (initial D w P).clock.now = 0 ∧ (initial D w P).clock.served = 0 ∧
    (initial D w P).clock.iterEnd = none ∧ (initial D w P).jobs = [] ∧ (initial D w P).dues = [] ∧
    (initial D w P).plan = {} ∧ (initial D w P).outOfFuel = false := by
  unfold Serq.initial
  simp only
  split
  · simp [default]
  · unfold scheduleArrival
    split <;> simp [default]

/-- Before anything has happened, nothing is pending in the past. -/
theorem TimeOk.initial (D : Deployment) (w : Workload) (P : Block) : TimeOk (initial D w P) := by
  unfold Serq.initial
  simp only
  split
  · exact ⟨⟨trivial, by simp [default]⟩,
      by simp [default], by simp [default]⟩
  · unfold scheduleArrival
    split
    · exact ⟨⟨trivial, by simp [default]⟩, by simp,
        by simp [default]⟩
    · refine ⟨⟨trivial, by simp [default]⟩, ?_,
        by simp [default]⟩
      intro t q h
      simp [default, Machine.now] at h ⊢

/-! ## Invariants of paths -/

/-- An invariant of the operations of a path holds at every machine of it. -/
theorem reach_invariant {D : Deployment} {w : Workload} {P : Block} (I : Machine → Prop)
    (h0 : I (initial D w P)) (hsettle : ∀ m, I m → I (settle D instantFuel m))
    (hstart : ∀ m, I m → m.clock.iterEnd = none → I (startIteration D m))
    (hhandle : ∀ m t q e, I m → nextEvent m = some (t, q, e) → I (handle D t e m))
    {m : Machine} (hm : Reach D w P m) : I m := by
  have after : ∀ m, I m → I (afterEvent D m) := by
    intro m hI
    unfold afterEvent
    have h1 := hsettle m hI
    simp only
    split
    · exact h1
    · next hn =>
      split
      · exact h1
      · exact hstart _ h1 hn
  induction hm with
  | start => exact after _ h0
  | step _ ih =>
    unfold step
    split
    · exact ih
    · next t q e hn => exact after _ (hhandle _ t q e ih hn)

/-- Nothing is ever pending in the past. -/
theorem reach_timeOk {D : Deployment} {w : Workload} {P : Block} {m : Machine}
    (hm : Reach D w P m) : TimeOk m :=
  reach_invariant TimeOk (TimeOk.initial D w P)
    (fun _ h => h.keeps (same_settle D _ _).toKeeps)
    (fun _ h _ => h.start D) (fun _ _ _ _ h hn => h.handle D hn) hm

/-- The proof rule for claims over iterations: an invariant of start, handle, settle and the start of
an iteration that gives `q` at each start gives `q` at every iteration of every path. -/
theorem every_iteration_of {D : Deployment} {P : Block} {W : Workload → Prop} {q : IterRec → Prop}
    (I : Machine → Prop)
    (h0 : ∀ w, W w → I (initial D w P)) (hsettle : ∀ m, I m → I (settle D instantFuel m))
    (hstart : ∀ m, I m → m.clock.iterEnd = none → I (startIteration D m))
    (hhandle : ∀ m t n e, I m → nextEvent m = some (t, n, e) → I (handle D t e m))
    (hq : ∀ m, I m → m.clock.iterEnd = none → (startIteration D m).outOfFuel = false →
      (startIteration D m).clock.iterEnd ≠ none → q (startIteration D m).clock.last) :
    EveryIteration D P W q := by
  intro w hw m hm
  refine (reach_invariant (D := D) (w := w) (P := P)
    (fun m => I m ∧ (m.outOfFuel = false → m.clock.iterEnd ≠ none → q m.clock.last))
    ⟨h0 w hw, ?_⟩ ?_ ?_ ?_ hm).2
  · intro _ hi
    exfalso
    apply hi
    unfold initial
    simp only
    split
    · rfl
    · unfold scheduleArrival
      split <;> rfl
  · intro m h
    have hs := same_settle D instantFuel m
    refine ⟨hsettle m h.1, ?_⟩
    rw [hs.clock]
    intro hf
    refine h.2 ?_
    cases hb : m.outOfFuel with
    | false => rfl
    | true => rw [hs.fuel hb] at hf; exact absurd hf (by simp)
  · intro m h hn
    exact ⟨hstart m h.1 hn, fun hf hi => hq m h.1 hn hf hi⟩
  · intro m t n e h hn
    obtain ⟨hc, hfuel⟩ := handle_clock D t e m
    refine ⟨hhandle m t n e h.1 hn, ?_⟩
    rw [hc]
    intro hf hi
    have hf' : m.outOfFuel = false := by
      cases hb : m.outOfFuel with
      | false => rfl
      | true => rw [hfuel hb] at hf; exact absurd hf (by simp)
    obtain ⟨_, _, hl, _, he⟩ := clockAfter_fields t e m
    rw [hl]
    rw [he] at hi
    refine h.2 hf' ?_
    intro hn'
    rw [hn'] at hi
    simp at hi

end Serq
