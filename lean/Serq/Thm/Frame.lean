import Serq.Exec
/-!
# What an instant leaves alone

Commands, admissions and the building of a batch take no time: they leave the clock alone, lose no
session and no pool, schedule nothing in the past, and never take back that fuel ran out. Commands and
admissions leave the plan of the iteration alone too; building a batch hands out at most its budget.
-/

namespace Serq

/-- Services in the order of their ends. -/
def SortedDues : List Due → Prop
  | [] => True
  | d :: ds => (∀ x ∈ ds, d.time ≤ x.time) ∧ SortedDues ds

/-- Services in the order of their ends, none of which is in the past. -/
def DuesOk (now : Nat) (ds : List Due) : Prop := SortedDues ds ∧ ∀ d ∈ ds, now ≤ d.time

/-- What every operation within an instant keeps. -/
structure Keeps (m m' : Machine) : Prop where
  clock : m'.clock = m.clock
  size : m'.sess.size = m.sess.size
  pools : m'.pools.length = m.pools.length
  fuel : m.outOfFuel = true → m'.outOfFuel = true
  dues : DuesOk m.clock.now m.dues → DuesOk m.clock.now m'.dues

/-- What commands and admissions keep: the plan too. -/
structure Same (m m' : Machine) : Prop extends Keeps m m' where
  plan : m'.plan = m.plan

/-- Doing nothing keeps everything. -/
theorem Keeps.refl (m : Machine) : Keeps m m := ⟨rfl, rfl, rfl, id, id⟩

/-- What two steps keep, both together keep. -/
theorem Keeps.trans {a b c : Machine} (h : Keeps a b) (h' : Keeps b c) : Keeps a c where
  clock := h'.clock.trans h.clock
  size := h'.size.trans h.size
  pools := h'.pools.trans h.pools
  fuel := fun x => h'.fuel (h.fuel x)
  dues := fun x => by
    have h1 := h.dues x
    have h2 := h'.dues
    rw [h.clock] at h2
    exact h2 h1

/-- Doing nothing leaves the plan alone too. -/
theorem Same.refl (m : Machine) : Same m m := ⟨Keeps.refl m, rfl⟩

/-- What two steps leave alone, both together leave alone. -/
theorem Same.trans {a b c : Machine} (h : Same a b) (h' : Same b c) : Same a c :=
  ⟨h.toKeeps.trans h'.toKeeps, h'.plan.trans h.plan⟩

/-- A service inserted behind all that end no later keeps the order. -/
theorem duesOk_insert {now : Nat} {ds : List Due} (h : DuesOk now ds) {d : Due} (hd : now ≤ d.time) :
    DuesOk now (insertDue d ds) := by
  have mem : ∀ (l : List Due) (x : Due), x ∈ insertDue d l ↔ x = d ∨ x ∈ l := by
    intro l x
    induction l with
    | nil => simp [insertDue]
    | cons y l ih =>
      unfold insertDue
      split
      · simp only [List.mem_cons, ih]
        constructor
        · rintro (h | h | h) <;> simp [h]
        · rintro (h | h | h) <;> simp [h]
      · simp
  have sorted : ∀ l : List Due, SortedDues l → SortedDues (insertDue d l) := by
    intro l
    induction l with
    | nil => intro _; exact ⟨by simp, trivial⟩
    | cons y l ih =>
      intro hl
      unfold insertDue
      split
      · next hy =>
        refine ⟨fun x hx => ?_, ih hl.2⟩
        rcases (mem l x).mp hx with rfl | hx
        · exact hy
        · exact hl.1 x hx
      · next hy =>
        refine ⟨fun x hx => ?_, hl⟩
        rcases List.mem_cons.mp hx with rfl | hx
        · omega
        · exact Nat.le_trans (by omega) (hl.1 x hx)
  refine ⟨sorted ds h.1, fun x hx => ?_⟩
  rcases (mem ds x).mp hx with rfl | hx
  · exact hd
  · exact h.2 x hx

/-! ## Small steps -/

/-- Changing a session leaves the clock and the plan alone. -/
theorem same_modSess (m : Machine) (i : Nat) (f : Sess → Sess) : Same m (m.modSess i f) :=
  ⟨⟨rfl, by simp [Machine.modSess], rfl, id, id⟩, rfl⟩

/-- Changing a pool leaves the clock and the plan alone. -/
theorem same_modPool (m : Machine) (p : Nat) (f : PoolSt → PoolSt) : Same m (m.modPool p f) :=
  ⟨⟨rfl, rfl, by simp [Machine.modPool], id, id⟩, rfl⟩

/-- Changing a stage leaves the clock and the plan alone. -/
theorem same_modStage (m : Machine) (s : Nat) (f : StageSt → StageSt) : Same m (m.modStage s f) :=
  ⟨⟨rfl, rfl, rfl, id, id⟩, rfl⟩

/-- Setting an attribute leaves the clock and the plan alone. -/
theorem same_setAttr (m : Machine) (i slot v : Nat) : Same m (m.setAttr i slot v) :=
  same_modSess m i _

/-- Changing who is ready leaves the clock and the plan alone. -/
theorem same_ready (m : Machine) (l : List Nat) : Same m { m with ready := l } :=
  ⟨⟨rfl, rfl, rfl, id, id⟩, rfl⟩

/-- Making a session ready leaves the clock and the plan alone. -/
theorem same_wake (m : Machine) (i : Nat) : Same m (wake m i) :=
  ⟨⟨rfl, by simp [wake, Machine.modSess], rfl, id, id⟩, rfl⟩

/-- Changing the jobs leaves the clock and the plan alone. -/
theorem same_jobs (m : Machine) (l : List Job) : Same m { m with jobs := l } :=
  ⟨⟨rfl, rfl, rfl, id, id⟩, rfl⟩

/-- Recording an observation leaves the clock and the plan alone. -/
theorem same_obs (m : Machine) (l : List Obs) : Same m { m with obs := l } :=
  ⟨⟨rfl, rfl, rfl, id, id⟩, rfl⟩

/-- Counting a rejection leaves the clock and the plan alone. -/
theorem same_rejected (m : Machine) (n : Nat) : Same m { m with rejected := n } :=
  ⟨⟨rfl, rfl, rfl, id, id⟩, rfl⟩

/-- Counting leaves the clock and the plan alone. -/
theorem same_tally (m : Machine) (f : Counters → Counters) : Same m (tally m f) :=
  ⟨⟨rfl, rfl, rfl, id, id⟩, rfl⟩

/-- Recording that fuel ran out leaves the clock and the plan alone. -/
theorem same_fuel (m : Machine) : Same m { m with outOfFuel := true } :=
  ⟨⟨rfl, rfl, rfl, fun _ => rfl, id⟩, rfl⟩

/-- Starting a service leaves the clock and the plan alone. -/
theorem same_serveFor (m : Machine) (i s w : Nat) : Same m (serveFor m i s w) :=
  ⟨⟨rfl, by simp [serveFor, Machine.modSess], rfl, id,
    fun h => duesOk_insert h (Nat.le_add_right _ _)⟩, rfl⟩

/-! ## Pools and admission -/

/-- Making room leaves the clock and the plan alone. -/
theorem same_makeRoom (D : Deployment) (m : Machine) (p need : Nat) :
    Same m (makeRoom D m p need) := by
  unfold makeRoom
  simp only
  split
  · exact Same.refl m
  · exact same_modPool m p _

/-- Taking one allocation leaves the clock and the plan alone. -/
theorem same_takeOne (D : Deployment) (i : Nat) (caching : Bool) (m : Machine) (a : Alloc) :
    Same m (takeOne D i caching m a) := by
  unfold takeOne
  simp only
  refine Same.trans ?_ (same_modPool _ _ _)
  refine Same.trans ?_ (same_makeRoom _ _ _ _)
  split
  · exact same_modPool m _ _
  · exact Same.refl m

/-- Taking the allocations of a hold leaves the clock and the plan alone. -/
theorem same_takeAll (D : Deployment) (i : Nat) (caching : Bool) (as : List Alloc) (m : Machine) :
    Same m (takeAll D i caching as m) := by
  induction as generalizing m with
  | nil => exact Same.refl m
  | cons a as ih => exact (same_takeOne D i caching m a).trans (ih _)

/-- Giving one allocation back leaves the clock and the plan alone. -/
theorem same_giveOne (D : Deployment) (i : Nat) (grown : Bool) (value : Option Nat) (m : Machine)
    (a : Alloc) : Same m (giveOne D i grown value m a) := by
  unfold giveOne
  simp only
  split
  · exact same_modPool m _ _
  · exact (same_modPool m _ _).trans ⟨⟨rfl, rfl, rfl, id, id⟩, rfl⟩

/-- Giving allocations back leaves the clock and the plan alone. -/
theorem same_giveAll (D : Deployment) (i : Nat) (grown : Bool) (value : Option Nat)
    (as : List Alloc) (m : Machine) : Same m (giveAll D i grown value as m) := by
  induction as generalizing m with
  | nil => exact Same.refl m
  | cons a as ih => exact (same_giveOne D i grown value m a).trans (ih _)

/-- Releasing a hold leaves the clock and the plan alone. -/
theorem same_releaseHold (D : Deployment) (i : Nat) (r : HoldRec) (grown : Bool) (m : Machine) :
    Same m (releaseHold D i r grown m) :=
  (same_modSess m i _).trans (same_giveAll D i grown _ _ _)

/-- Releasing all holds of a session leaves the clock and the plan alone. -/
theorem same_releaseStack (D : Deployment) (i : Nat) (st : List Frame) (m : Machine) :
    Same m (releaseStack D i st m) := by
  induction st generalizing m with
  | nil => exact Same.refl m
  | cons f st ih =>
    cases f with
    | seq k => exact ih m
    | hold r k => exact (same_releaseHold D i r r.grown m).trans (ih _)

/-- Ending a session leaves the clock and the plan alone. -/
theorem same_endSession (D : Deployment) (m : Machine) (i : Nat) : Same m (endSession D m i) :=
  (same_releaseStack D i _ m).trans (same_modSess _ i _)

/-- Joining a queue, or being rejected leaves the clock and the plan alone. -/
theorem same_enqueue (D : Deployment) (m : Machine) (i : Nat) (front : Bool) :
    Same m (enqueue D m i front) := by
  unfold enqueue
  split
  · simp only
    split
    · exact ((same_rejected m _).trans (same_endSession D _ i)).trans (same_tally _ _)
    · exact (same_modPool m _ _).trans (same_modSess _ i _)
  · exact Same.refl m

/-- Starting the body of a hold leaves the clock and the plan alone. -/
theorem same_enterBody (D : Deployment) (m : Machine) (i : Nat) (r : HoldRec) (body k : Block) :
    Same m (enterBody D m i r body k) :=
  ⟨⟨rfl, by simp [enterBody, Machine.modSess], rfl, id, id⟩, rfl⟩

/-- Admitting a session leaves the clock and the plan alone. -/
theorem same_admit (D : Deployment) (m : Machine) (p i left : Nat) :
    Same m (admit D m p i left) := by
  unfold admit
  split
  · exact (((same_modPool m p _).trans (same_takeAll D i _ _ _)).trans
      (same_enterBody D _ i _ _ _)).trans (same_tally _ _)
  · exact Same.refl m

/-- Admitting at one pool leaves the clock and the plan alone. -/
theorem same_admitHeads (D : Deployment) (p fuel : Nat) (m : Machine) :
    Same m (admitHeads D p fuel m) := by
  induction fuel generalizing m with
  | zero => exact same_fuel m
  | succ fuel ih =>
    unfold admitHeads
    split
    · exact Same.refl m
    · split
      · exact (same_admit D m p _ 0).trans (ih _)
      · exact Same.refl m

/-- Admitting at some pools leaves the clock and the plan alone. -/
theorem same_admitPools (D : Deployment) (Ps : List Pool) (p : Nat) (m : Machine) :
    Same m (admitPools D Ps p m) := by
  induction Ps generalizing p m with
  | nil => exact Same.refl m
  | cons P Ps ih =>
    unfold admitPools
    refine Same.trans ?_ (ih _ _)
    split
    · exact Same.refl m
    · exact same_admitHeads D p _ m

/-- Admitting at every pool that no engine serves leaves the clock and the plan alone. -/
theorem same_admitAll (D : Deployment) (m : Machine) : Same m (admitAll D m) :=
  same_admitPools D D.pools 0 m

/-! ## Commands -/

/-- Starting a run leaves the clock and the plan alone. -/
theorem same_startRun (D : Deployment) (m : Machine) (i s : Nat) (mode : Mode) (w : Nat)
    (growing : Option Nat) : Same m (startRun D m i s mode w growing) := by
  unfold startRun
  split
  · exact same_serveFor m i s w
  · split
    · exact (same_modStage m s _).trans (same_serveFor _ i s w)
    · exact (same_modStage m s _).trans (same_modSess _ i _)
  · exact (same_modSess m i _).trans (same_jobs _ _)

/-- Releasing one pool of a hold leaves the clock and the plan alone. -/
theorem same_releasePool (D : Deployment) (m : Machine) (i p : Nat) :
    Same m (releasePool D m i p) := by
  unfold releasePool
  split
  · exact Same.refl m
  · split
    · exact Same.refl m
    · exact ((((same_modSess m i _).trans (same_giveOne D i _ _ _ _)).trans
        (same_modSess _ i _)).trans (same_admitAll D _)).trans (same_tally _ _)

/-- Ending a hold leaves the clock and the plan alone. -/
theorem same_finishHold (D : Deployment) (m : Machine) (i : Nat) (r : HoldRec) (k : Block)
    (st : List Frame) : Same m (finishHold D m i r k st) :=
  (((same_releaseHold D i r r.grown m).trans (same_modSess _ i _)).trans (same_admitAll D _)).trans
    (same_tally _ _)

/-- Running a session's commands leaves the clock and the plan alone. -/
theorem same_exec (D : Deployment) (fuel : Nat) (m : Machine) (i : Nat) :
    Same m (exec D fuel m i) := by
  induction fuel generalizing m with
  | zero => exact same_fuel m
  | succ fuel ih =>
    unfold exec
    simp only
    split
    · split
      · split
        · exact same_modSess m i _
        · exact (same_modSess m i _).trans (ih _)
        · exact (same_finishHold D m i _ _ _).trans (ih _)
      · exact same_endSession D m i
      · exact (same_modSess m i _).trans (ih _)
      · exact (same_modSess m i _).trans (ih _)
      · exact ((same_modSess m i _).trans (same_obs _ _)).trans (ih _)
      · exact same_enqueue D m i false
      · exact ((same_modPool m _ _).trans (same_modSess _ i _)).trans (ih _)
      · exact ((same_modSess m i _).trans (same_releasePool D _ i _)).trans (ih _)
      · split
        · exact (same_modSess m i _).trans (same_ready _ _)
        · exact (same_modSess m i _).trans (same_startRun D _ i _ _ _ _)
      · exact (same_modSess m i _).trans (ih _)
      · exact (same_modSess m i _).trans (ih _)
      · split
        · exact (same_modSess m i _).trans (ih _)
        · exact (same_modSess m i _).trans (ih _)
      · exact (same_modSess m i _).trans (ih _)
    · exact Same.refl m

/-- Running all ready sessions leaves the clock and the plan alone. -/
theorem same_drain (D : Deployment) (fuel : Nat) (m : Machine) : Same m (drain D fuel m) := by
  induction fuel generalizing m with
  | zero => exact same_fuel m
  | succ fuel ih =>
    unfold drain
    split
    · exact Same.refl m
    · exact ((same_ready m _).trans (same_exec D _ _ _)).trans (ih _)

/-- Settling leaves the clock and the plan alone. -/
theorem same_settle (D : Deployment) (fuel : Nat) (m : Machine) : Same m (settle D fuel m) := by
  induction fuel generalizing m with
  | zero => exact same_fuel m
  | succ fuel ih =>
    unfold settle
    simp only
    split
    · exact (same_drain D _ m).trans (same_admitAll D _)
    · exact ((same_drain D _ m).trans (same_admitAll D _)).trans (ih _)

/-! ## Building a batch -/

/-- The tokens of a batch. -/
def sumTokens : List Entry → Nat
  | [] => 0
  | e :: es => e.tokens + sumTokens es

/-- What building a batch keeps: the clock and so on, and that the batch and what is left of the
budget are the budget. -/
structure Builds (B : Nat) (m m' : Machine) : Prop extends Keeps m m' where
  budget : sumTokens m.plan.batch + m.plan.left = B → sumTokens m'.plan.batch + m'.plan.left = B

/-- Doing nothing hands out nothing. -/
theorem Builds.refl (B : Nat) (m : Machine) : Builds B m m := ⟨Keeps.refl m, id⟩

/-- Two steps of building a batch are one. -/
theorem Builds.trans {B : Nat} {a b c : Machine} (h : Builds B a b) (h' : Builds B b c) :
    Builds B a c := ⟨h.toKeeps.trans h'.toKeeps, fun x => h'.budget (h.budget x)⟩

/-- What leaves the plan alone hands out nothing. -/
theorem Same.builds {m m' : Machine} (B : Nat) (h : Same m m') : Builds B m m' :=
  ⟨h.toKeeps, fun x => by rw [h.plan]; exact x⟩

/-- The tokens of two batches together are their sum. -/
theorem sumTokens_append (a b : List Entry) : sumTokens (a ++ b) = sumTokens a + sumTokens b := by
  induction a with
  | nil => simp [sumTokens]
  | cons e a ih => simp only [List.cons_append, sumTokens, ih]; omega

/-- A batch without a session's tokens, and those tokens, are the batch's tokens. -/
theorem sumTokens_removeEntry (i : Nat) (l : List Entry) :
    sumTokens (removeEntry i l) + tokensOf i l = sumTokens l := by
  induction l with
  | nil => rfl
  | cons e l ih =>
    unfold removeEntry tokensOf
    split <;> simp only [sumTokens] <;> omega

/-- Unwinding a preempted session to its hold leaves the clock and the plan alone. -/
theorem same_unwind (D : Deployment) (p i : Nat) (st : List Frame) (m : Machine) :
    Same m (unwind D p i st m) := by
  induction st generalizing m with
  | nil => exact same_modSess m i _
  | cons f st ih =>
    cases f with
    | seq k => exact ih m
    | hold r k =>
      unfold unwind
      simp only
      split
      · exact (same_releaseHold D i r true m).trans (ih _)
      · exact (same_releaseHold D i r true m).trans (same_modSess _ i _)

/-- Moving a position leaves the clock and the plan alone. -/
theorem same_moveTo (m : Machine) (i p x : Nat) : Same m (moveTo m i p x) := same_modSess m i _

/-- Without a victim's tokens the batch is smaller, and the budget has them again. -/
theorem builds_withoutVictim (B : Nat) (m : Machine) (i : Nat) (l : List Job) :
    Builds B m { m with jobs := l, plan := withoutVictim i m.plan } := by
  refine ⟨⟨rfl, rfl, rfl, id, id⟩, fun h => ?_⟩
  have := sumTokens_removeEntry i m.plan.batch
  simp only [withoutVictim]
  omega

/-- A preemption hands out no more than the budget. -/
theorem builds_preempt (B : Nat) (D : Deployment) (p i : Nat) (m : Machine) :
    Builds B m (preempt D p i m) := by
  unfold preempt
  simp only
  refine Builds.trans ?_ (Same.builds B (((same_unwind D p i _ _).trans
    (same_enqueue D _ i _)).trans (same_tally _ _)))
  exact (((same_setAttr m i _ _).trans (same_moveTo _ i p _)).builds B).trans
    (builds_withoutVictim B _ i _)

/-- A growth that finds room leaves the clock and the plan alone. -/
theorem same_grown (D : Deployment) (p i need : Nat) (m : Machine) :
    Same m (addUnits (takeUnits (makeRoom D m p need) p need) i p need) :=
  ((same_makeRoom D m p need).trans (same_modPool _ _ _)).trans (same_modSess _ i _)

/-- A growth, with the preemptions that it needs, hands out no more than the budget. -/
theorem builds_grow (B : Nat) (D : Deployment) (p i need fuel : Nat) (m : Machine) :
    Builds B m (grow D p i need fuel m).1 := by
  induction fuel generalizing m with
  | zero => exact (same_fuel m).builds B
  | succ fuel ih =>
    unfold grow
    split
    · exact (same_grown D p i need m).builds B
    · split
      · exact Builds.refl B m
      · split
        · exact builds_preempt B D p _ m
        · exact (builds_preempt B D p _ m).trans (ih _)

/-- Scheduling no more than is left keeps the budget. -/
theorem builds_schedule (B : Nat) (D : Deployment) (m : Machine) (j : Job) (t attn2 : Nat)
    (h : t ≤ m.plan.left) : Builds B m (schedule D m j t attn2) := by
  refine ⟨⟨rfl, rfl, rfl, id, id⟩, fun hb => ?_⟩
  simp only [schedule, sumTokens_append, sumTokens]
  omega

/-- Growth only gives tokens back: what is left does not shrink. -/
theorem left_grow (D : Deployment) (p i need fuel : Nat) (m : Machine) :
    m.plan.left ≤ (grow D p i need fuel m).1.plan.left := by
  induction fuel generalizing m with
  | zero => exact Nat.le_refl _
  | succ fuel ih =>
    have hp : ∀ v, m.plan.left ≤ (preempt D p v m).plan.left := by
      intro v
      unfold preempt
      simp only
      rw [(((same_unwind D p v _ _).trans (same_enqueue D _ v _)).trans (same_tally _ _)).plan]
      simp only [moveTo, Machine.setAttr, Machine.modSess, withoutVictim]
      omega
    unfold grow
    split
    · rw [(same_grown D p i need m).plan]
      exact Nat.le_refl _
    · split
      · exact Nat.le_refl _
      · split
        · exact hp _
        · exact Nat.le_trans (hp _) (ih _)

/-- Giving a resident its tokens hands out no more than the budget. -/
theorem builds_giveTokens (B : Nat) (D : Deployment) (j : Job) (t : Nat) (m : Machine)
    (ht : t ≤ m.plan.left) : Builds B m (giveTokens D j t m).1 := by
  unfold giveTokens
  split
  · exact builds_schedule B D m j _ _ ht
  · next p _ =>
    split
    · exact Builds.refl B m
    · next a _ =>
      simp only
      split
      · exact ((same_moveTo m j.owner p _).builds B).trans (builds_schedule B D _ j _ _ ht)
      · have hg := builds_grow B D p j.owner (roundUp (D.pool p).block (a.pos + t) - a.units)
          (m.jobs.length + 1) m
        have hl := left_grow D p j.owner (roundUp (D.pool p).block (a.pos + t) - a.units)
          (m.jobs.length + 1) m
        split
        · next m' heq =>
          rw [heq] at hg hl
          exact (hg.trans ((same_moveTo m' j.owner p _).builds B)).trans
            (builds_schedule B D _ j _ _ (Nat.le_trans ht hl))
        · next m' heq =>
          rw [heq] at hg
          exact hg

/-- Nobody gets more than is left of the budget. -/
theorem tokensFor_le (cap : Nat) (j : Job) (m : Machine) : tokensFor cap j m ≤ m.plan.left := by
  unfold tokensFor
  split <;> omega

/-- Serving a resident hands out no more than the budget. -/
theorem builds_serveJob (B : Nat) (D : Deployment) (cap : Nat) (j : Job) (m : Machine) :
    Builds B m (serveJob D cap j m).1 := by
  unfold serveJob
  split
  · exact Builds.refl B m
  · split
    · exact Builds.refl B m
    · simp only
      split
      · exact Builds.refl B m
      · exact builds_giveTokens B D j _ m (tokensFor_le cap j m)

/-- Serving the residents hands out no more than the budget. -/
theorem builds_serveAll (B : Nat) (D : Deployment) (cap fuel : Nat) (todo : List Job) (m : Machine) :
    Builds B m (serveAll D cap fuel todo m) := by
  induction fuel generalizing todo m with
  | zero => exact Builds.refl B m
  | succ fuel ih =>
    unfold serveAll
    split
    · exact Builds.refl B m
    · next j rest _ =>
      have h := builds_serveJob B D cap j m
      split
      · next m' heq => rw [heq] at h; exact h
      · next m' heq =>
        rw [heq] at h
        split
        · exact h
        · exact h.trans (ih _ _)

/-- Noting who was admitted hands out no more than the budget. -/
theorem builds_entered (B : Nat) (m : Machine) (l : List (Nat × Nat)) :
    Builds B m { m with plan := { m.plan with entered := l } } :=
  ⟨⟨rfl, rfl, rfl, id, id⟩, id⟩

/-- Admitting and serving a session in an iteration hands out no more than the budget. -/
theorem builds_admitNext (B : Nat) (D : Deployment) (cap p i : Nat) (m : Machine) :
    Builds B m (admitNext D cap p i m) := by
  unfold admitNext
  simp only
  have h := (((same_admit D m p i m.plan.left).builds B).trans (builds_entered B _ _)).trans
    ((same_drain D instantFuel { admit D m p i m.plan.left with
      plan := { (admit D m p i m.plan.left).plan with
        entered := (admit D m p i m.plan.left).plan.entered ++
          [(i, Arr.at! ((admit D m p i m.plan.left).at_ i).attrs D.slotCached)] } }).builds B)
  split
  · exact h
  · exact h.trans (builds_serveJob B D cap _ _)

/-- Serving the queues of the engine hands out no more than the budget. -/
theorem builds_admitWaiting (B : Nat) (D : Deployment) (cap fuel : Nat) (m : Machine) :
    Builds B m (admitWaiting D cap fuel m) := by
  induction fuel generalizing m with
  | zero => exact (same_fuel m).builds B
  | succ fuel ih =>
    unfold admitWaiting
    split
    · exact Builds.refl B m
    · split
      · exact Builds.refl B m
      · split
        · exact Builds.refl B m
        · split
          · exact Builds.refl B m
          · split
            · exact (builds_admitNext B D cap _ _ m).trans (ih _)
            · exact Builds.refl B m

/-- Building a batch leaves the clock alone and hands out at most the budget. -/
theorem buildBatch_keeps (D : Deployment) (cap : Nat) (m : Machine) :
    Keeps m (buildBatch D cap m) ∧ sumTokens (buildBatch D cap m).plan.batch ≤ D.budget := by
  unfold buildBatch
  simp only
  have h := (builds_serveAll D.budget D cap m.jobs.length m.jobs
    { m with plan := { left := D.budget, preempts := m.plan.preempts } }).trans
      (builds_admitWaiting D.budget D cap admissionFuel _)
  refine ⟨⟨h.clock, h.size, h.pools, h.fuel, h.dues⟩, ?_⟩
  have := h.budget (by simp [sumTokens])
  omega

end Serq
