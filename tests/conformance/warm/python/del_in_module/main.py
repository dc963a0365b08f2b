import helper


class Here:
    def __del__(self):
        print("gone from main", helper.NAME)


here = Here()
kept = helper.Noisy("kept by main")
print("end")
